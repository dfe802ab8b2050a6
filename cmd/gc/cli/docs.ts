import type { ArgSpec, CommandSpec, GroupSpec, OptionSpec } from './spec.ts';

const INTRO = `# Commands

This page is generated from the command table (\`npm run docs\`).

- Every command takes \`--help\`. Commands that work on one city take \`--city <path>\`; without it the city is the one of
  \`GC_CITY\`, else the one found upward from the working directory, else the only registered one (said on stderr).
- \`--json\` prints data as JSON, and errors as JSON on stderr: \`{"error": {"code", "command", "message", "next"}}\`.
- Exit codes: 0 success, 1 failure, 3 another controller or supervisor runs already, 4 the lease of the controller was lost, 130 interrupted by Ctrl-C.
- At a terminal some commands print for a person; into a pipe they print plain lines that scripts can match. \`NO_COLOR\` is
  honoured. A reader that goes away (\`gc events --follow | head\`) is not an error.
`;

/** `docs/cli.md`: every command with its arguments, options and examples. */
export function renderCliDocs(groups: readonly GroupSpec[]): string {
  const headings = [...new Set(groups.map((group) => group.heading))];
  const sections = headings.flatMap((heading) => {
    const commands = groups.filter((group) => group.heading === heading).flatMap((group) => group.commands);
    const shown = commands.filter((spec) => !spec.hidden);
    return shown.length === 0 ? [] : [`## ${heading}\n\n${shown.map(renderCommand).join('\n')}`];
  });
  return `${INTRO}\n${sections.join('\n')}`;
}

function renderCommand(spec: CommandSpec): string {
  const options = (spec.options ?? []).filter((option) => !option.hidden);
  const parts = [
    `### gc ${spec.path}`,
    spec.summary,
    ...(spec.details ? [spec.details] : []),
    `\`\`\`text\n${usageOf(spec, options.length > 0)}\n\`\`\``,
    ...list((spec.args ?? []).map((arg) => `- \`${arg.name}\`: ${arg.summary}`)),
    ...list(options.map(optionLine)),
    `\`\`\`sh\n${spec.examples.map((each) => `${each.command}  # ${each.explains}`).join('\n')}\n\`\`\``,
    ...list((spec.exits ?? []).map((each) => `- exit code ${each.code}: ${each.when}`)),
  ];
  return `${parts.join('\n\n')}\n`;
}

const list = (lines: readonly string[]): readonly string[] => (lines.length > 0 ? [lines.join('\n')] : []);

function usageOf(spec: CommandSpec, hasOptions: boolean): string {
  const args = (spec.args ?? []).map(argTerm);
  return ['gc', spec.path, ...(hasOptions ? ['[options]'] : []), ...args].join(' ');
}

function argTerm(arg: ArgSpec): string {
  const name = arg.variadic ? `${arg.name}...` : arg.name;
  return arg.optional ? `[${name}]` : `<${name}>`;
}

function optionLine(option: OptionSpec): string {
  const short = option.short ? `-${option.short}, ` : '';
  const value = option.value ? ` <${option.value}>` : '';
  const fallback = option.default === undefined ? '' : ` (default: ${option.default})`;
  const again = option.repeatable ? ' Can be given more than once.' : '';
  return `- \`${short}--${option.name}${value}\`: ${option.summary}${fallback}${again ? `.${again}` : ''}`;
}
