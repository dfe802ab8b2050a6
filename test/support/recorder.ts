import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** An agent that writes down each message it gets, in a folder of its name; `installAgent` brings its program. */
export function recorderLine(name: string): string {
  const command = `mkdir -p ${name} && cd ${name} && exec '${process.execPath}' ../recorder.mjs 0 0 ''`;
  return `  - { name: ${name}, start_command: "${command}", prompt_mode: none, ready_prompt_prefix: "READY> " }`;
}

/** What such an agent was told, in order. */
export function heardBy(city: string, name: string): readonly string[] {
  const file = join(city, name, 'messages.jsonl');
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as string);
}
