import { Argument, Command, CommanderError, Option } from 'commander';
import { nearest } from '../../../internal/config/document/nearest.ts';
import { Input, type RawValue } from './input.ts';
import type { CommandSpec, GroupSpec, OptionSpec } from './spec.ts';
import { shieldTexts } from './texts.ts';

/** What a command line means. */
export type Parsed =
  | {
      readonly kind: 'run';
      readonly spec: CommandSpec;
      readonly input: Input;
      readonly city: string | undefined;
      readonly json: boolean;
    }
  | { readonly kind: 'print'; readonly text: string }
  | {
      readonly kind: 'usage';
      /** The words of the command that was meant, as far as they are known. */
      readonly path: string;
      readonly message: string;
      readonly next: string | undefined;
    };

export interface HelpStyle {
  readonly columns: number;
  readonly title: (text: string) => string;
}

const PLAIN_HELP: HelpStyle = { columns: 80, title: (text) => text };

/** Reads the words after `gc`. Never throws, never prints. */
export function parse(
  groups: readonly GroupSpec[],
  argv: readonly string[],
  style: HelpStyle = PLAIN_HELP,
): Parsed {
  const reading = new Reading(groups, style, argv);
  return reading.read(argv);
}

/** The help of the program, of a group or of a command; `undefined` when there is none by these words. */
export function helpText(
  groups: readonly GroupSpec[],
  words: readonly string[],
  style: HelpStyle = PLAIN_HELP,
): string | undefined {
  return new Reading(groups, style, words).help(words);
}

class Reading {
  readonly #groups: readonly GroupSpec[];
  readonly #style: HelpStyle;
  /** Only what is named on the command line is built in full: nobody asks for the rest. */
  readonly #named: ReadonlySet<string>;
  readonly #groupCommands = new Set<Command>();
  readonly #program: Command;
  #result: Parsed | undefined;
  #printed = '';
  #path = '';
  #restore: (word: string) => string = (word) => word;

  constructor(groups: readonly GroupSpec[], style: HelpStyle, words: readonly string[]) {
    this.#groups = groups;
    this.#style = style;
    this.#named = new Set(words);
    this.#program = this.#buildProgram();
  }

  read(argv: readonly string[]): Parsed {
    const shielded = shieldTexts(argv);
    this.#restore = shielded.restore;
    try {
      this.#program.parse(shielded.words, { from: 'user' });
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error;
      if (error.exitCode === 0) return { kind: 'print', text: this.#printed };
      const message = this.#restore(error.message.replace(/^error: /, '')).replace(/\n/g, ' ');
      return this.#usage(this.#path, message, `gc help${this.#path ? ` ${this.#path}` : ''}`);
    }
    return this.#result ?? { kind: 'print', text: this.help([]) ?? '' };
  }

  help(words: readonly string[]): string | undefined {
    let command = this.#program;
    for (const word of words) {
      const next = command.commands.find((each) => each.name() === word);
      if (!next) return undefined;
      command = next;
    }
    this.#printed = '';
    command.outputHelp();
    return this.#printed;
  }

  #buildProgram(): Command {
    const style = this.#style;
    const program = new Command('gc')
      .usage('<command> [arguments]')
      .description('Runs a city of coding agents: one file declares them, gc keeps them up.')
      .option('--city <path>', 'the city to work on (default: $GC_CITY, else upward from here)')
      .helpCommand(false)
      .helpOption('-h, --help', 'print help')
      .exitOverride()
      .configureOutput({
        writeOut: (text) => {
          this.#printed += text;
        },
        writeErr: () => undefined,
        getOutHelpWidth: () => style.columns,
        getOutHasColors: () => true,
      })
      .configureHelp({
        styleTitle: style.title,
        showGlobalOptions: true,
        subcommandTerm: (command) => this.#termOf(command),
      })
      .allowUnknownOption()
      .allowExcessArguments();
    program.action(() => this.#unknown(program, 'gc', []));
    for (const group of this.#groups) this.#addGroup(program, group);
    return program;
  }

  #addGroup(program: Command, group: GroupSpec): void {
    let parent = program;
    if (group.word !== '') {
      const command = program
        .command(group.word, group.commands.every((spec) => spec.hidden) ? { hidden: true } : {})
        .summary(group.summary)
        .description(group.summary)
        .usage('<command> [arguments]')
        .helpGroup(`${group.heading}:`)
        .allowUnknownOption()
        .allowExcessArguments();
      command.action(() => this.#groupAlone(command, group));
      this.#groupCommands.add(command);
      if (!this.#named.has(group.word)) return;
      parent = command;
    }
    for (const spec of group.commands) {
      const owner = group.word === '' ? ownerOf(program, spec) : parent;
      this.#addCommand(owner, spec, group.heading);
    }
  }

  #addCommand(parent: Command, spec: CommandSpec, heading: string): void {
    const word = spec.path.split(' ').at(-1) ?? spec.path;
    const command = parent
      .command(word, spec.hidden ? { hidden: true } : {})
      .summary(spec.summary)
      .description(spec.details ? `${spec.summary}\n\n${spec.details}` : spec.summary)
      .helpGroup(`${heading}:`)
      .helpCommand(false)
      .allowExcessArguments(false);
    for (const arg of spec.args ?? []) {
      const shown = arg.variadic ? `${arg.name}...` : arg.name;
      command.addArgument(new Argument(arg.optional ? `[${shown}]` : `<${shown}>`, arg.summary));
    }
    if (!this.#named.has(word)) return;
    for (const option of spec.options ?? []) command.addOption(toOption(option));
    command.addHelpText('after', this.#examples(spec));
    command.exitOverride((error) => {
      this.#path = spec.path;
      throw error;
    });
    command.action(() => this.#chosen(command, spec));
  }

  #examples(spec: CommandSpec): string {
    const lines = spec.examples.map((each) => `  ${each.command}\n      ${each.explains}`);
    const exits = (spec.exits ?? []).map((each) => `  ${each.code}  ${each.when}`);
    const exitText = exits.length > 0 ? `\n${this.#style.title('Exit codes:')}\n${exits.join('\n')}\n` : '';
    return `\n${this.#style.title('Examples:')}\n${lines.join('\n')}\n${exitText}`;
  }

  #chosen(command: Command, spec: CommandSpec): void {
    const args: Record<string, RawValue> = {};
    for (const [index, arg] of (spec.args ?? []).entries()) {
      const value: unknown = command.processedArgs[index];
      args[arg.name] = this.#plain(value);
    }
    const options: Record<string, RawValue> = {};
    for (const option of spec.options ?? []) options[option.name] = this.#optionValue(command, option);
    const city: unknown = this.#program.opts()['city'];
    this.#result = {
      kind: 'run',
      spec,
      input: new Input(args, options),
      city: typeof city === 'string' ? city : undefined,
      json: options['json'] === true,
    };
  }

  #optionValue(command: Command, option: OptionSpec): RawValue {
    const negated = option.name.startsWith('no-') && option.value === undefined;
    const key = camelCase(negated ? option.name.slice(3) : option.name);
    // An option that the command above has too is read there.
    const value: unknown = command.opts()[key] ?? command.parent?.opts()[key];
    return negated ? value === false : this.#plain(value);
  }

  #plain(value: unknown): RawValue {
    if (typeof value === 'string') return this.#restore(value);
    if (typeof value === 'boolean') return value;
    if (Array.isArray(value)) return value.map((each) => this.#restore(String(each)));
    return undefined;
  }

  #groupAlone(command: Command, group: GroupSpec): void {
    const word = command.args[0];
    if (word === undefined && group.bare === 'error') {
      const shown = group.commands.filter((spec) => !spec.hidden);
      const list = shown.map((spec) => spec.path.split(' ').at(-1)).join(', ');
      this.#result = this.#usage(group.word, `missing subcommand (${list})`, `gc help ${group.word}`);
    } else this.#unknown(command, group.word, [group.word]);
  }

  #unknown(command: Command, path: string, words: readonly string[]): void {
    const typed = command.args[0];
    if (typed === undefined) {
      this.#result = { kind: 'print', text: this.help(words) ?? '' };
      return;
    }
    const word = this.#restore(typed);
    const what = word.startsWith('-') ? 'option' : words.length > 0 ? 'subcommand' : 'command';
    const known = command.commands.map((each) => each.name()).filter((name) => !name.startsWith('_'));
    const meant = what === 'option' ? undefined : nearest(word, known);
    const hint = meant ? `; did you mean "${meant}"?` : '';
    this.#result = this.#usage(
      words.length > 0 ? path : '',
      `unknown ${what} "${word}"${hint}`,
      `gc help${words.length > 0 ? ` ${words.join(' ')}` : ''}`,
    );
  }

  /** A command in a list of commands: its word and its arguments. */
  #termOf(command: Command): string {
    const args = command.registeredArguments.map((arg) => {
      const shown = arg.variadic ? `${arg.name()}...` : arg.name();
      return arg.required ? `<${shown}>` : `[${shown}]`;
    });
    return [command.name(), ...(this.#groupCommands.has(command) ? ['...'] : args)].join(' ');
  }

  #usage(path: string, message: string, next: string): Parsed {
    return { kind: 'usage', path, message, next };
  }
}

/** `nudge status` is found under `nudge`, which is a command too. */
function ownerOf(program: Command, spec: CommandSpec): Command {
  const [first, second] = spec.path.split(' ');
  const owner = second === undefined ? undefined : program.commands.find((each) => each.name() === first);
  return owner ?? program;
}

function toOption(spec: OptionSpec): Option {
  const value = spec.valueOptional ? `[${spec.value}]` : `<${spec.value}>`;
  const long = spec.value === undefined ? `--${spec.name}` : `--${spec.name} ${value}`;
  const option = new Option(spec.short ? `-${spec.short}, ${long}` : long, spec.summary);
  if (spec.default !== undefined) option.default(spec.default, spec.default);
  if (spec.hidden) option.hideHelp();
  if (spec.repeatable) option.argParser(collect);
  return option;
}

function collect(value: string, previous: unknown): string[] {
  return [...(Array.isArray(previous) ? previous.map(String) : []), value];
}

const camelCase = (name: string): string =>
  name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
