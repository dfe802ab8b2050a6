import { join } from 'node:path';
import type { City } from '../config/city.ts';
import type { Environment } from '../platform/paths.ts';
import { AcpTranscriptReader } from '../session/transcript/acp/acp-reader.ts';
import { ClaudeTranscriptReader } from '../session/transcript/claude-reader.ts';
import { CodexTranscriptReader } from '../session/transcript/codex-reader.ts';
import { GeminiTranscriptReader } from '../session/transcript/gemini-reader.ts';
import { OpencodeTranscriptReader } from '../session/transcript/opencode-reader.ts';
import { PiTranscriptReader } from '../session/transcript/pi-reader.ts';
import type { TranscriptReader } from '../session/transcript/transcript-reader.ts';
import { acpDir } from './acp-sessions.ts';

/** One per agent program whose conversations can be read. */
export function transcriptReaders(city: City, env: Environment): readonly TranscriptReader[] {
  // Agents of another account keep their conversations in folders of their own.
  const environments = [env, ...city.agents.map((agent) => ({ ...env, ...agent.env }))];
  const roots = (rootsIn: (of: Environment) => readonly string[]): readonly string[] => [
    ...new Set([...environments.flatMap(rootsIn), ...city.daemon.observePaths]),
  ];
  return [
    new ClaudeTranscriptReader(roots(claudeRoots)),
    new CodexTranscriptReader(roots(codexRoots)),
    new GeminiTranscriptReader(roots(geminiRoots)),
    new OpencodeTranscriptReader(roots(opencodeRoots)),
    new PiTranscriptReader(roots(piRoots)),
    new AcpTranscriptReader(acpDir({ city, env })),
  ];
}

const inHome = (env: Environment, ...parts: readonly string[]): string => join(env['HOME'] ?? '', ...parts);

function claudeRoots(env: Environment): readonly string[] {
  return [join(env['CLAUDE_CONFIG_DIR'] || inHome(env, '.claude'), 'projects')];
}

function codexRoots(env: Environment): readonly string[] {
  return [join(env['CODEX_HOME'] || inHome(env, '.codex'), 'sessions')];
}

function geminiRoots(env: Environment): readonly string[] {
  return [join(env['GEMINI_CLI_HOME'] || inHome(env), '.gemini', 'tmp')];
}

function opencodeRoots(env: Environment): readonly string[] {
  return [join(env['XDG_DATA_HOME'] || inHome(env, '.local', 'share'), 'opencode')];
}

function piRoots(env: Environment): readonly string[] {
  const chosen = env['PI_CODING_AGENT_SESSION_DIR'];
  const own = join(env['PI_CODING_AGENT_DIR'] || inHome(env, '.pi', 'agent'), 'sessions');
  return chosen ? [chosen, own] : [own];
}
