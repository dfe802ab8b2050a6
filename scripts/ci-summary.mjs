// Reads the test runner's JSON reports and prints the line that closes a run: N passed, N failed, N skipped.
// A skip fails the run, unless its title names a program that may be missing here.
import { readFileSync } from 'node:fs';

const PROGRAMS = ['Claude Code', 'Codex', 'OpenCode', 'Gemini CLI', 'claude-code-acp', 'codex-acp'];
const ALLOWED_SKIP = new RegExp(
  `\\(skipped: (${PROGRAMS.join('|')}) is not installed\\)|\\(skipped: (macOS only|no real cluster is given)\\)`,
);

const files = process.argv.slice(2).flatMap((path) => JSON.parse(readFileSync(path, 'utf8')).testResults);
const tests = files.flatMap((file) => file.assertionResults);
const skipped = tests.filter(
  (test) => test.status === 'skipped' || test.status === 'pending' || test.status === 'todo',
);
const forbidden = skipped.filter((test) => !ALLOWED_SKIP.test(test.fullName));
const brokenFiles = files.filter((file) => file.status === 'failed' && file.assertionResults.length === 0);
const failed =
  tests.filter((test) => test.status === 'failed').length + brokenFiles.length + forbidden.length;
const passed = tests.filter((test) => test.status === 'passed').length;

for (const test of forbidden) console.log(`not allowed to be skipped here: ${test.fullName}`);
console.log(`${passed} passed, ${failed} failed, ${skipped.length - forbidden.length} skipped`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
