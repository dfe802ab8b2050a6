import { count, flag, text, textMap, texts } from './schema-common.ts';
import { z } from './zod.ts';

export const PROMPT_MODES = ['arg', 'flag', 'none'] as const;

const optionChoiceSchema = z
  .strictObject({
    value: text(),
    label: text().optional(),
    flag_args: texts().optional().describe('Command-line words that this choice adds.'),
  })
  .meta({ id: 'OptionChoice' });

const providerOptionSchema = z
  .strictObject({
    key: z.string().min(1, { error: 'must not be empty' }),
    label: text().optional(),
    type: text().optional(),
    default: text().optional(),
    choices: z.array(optionChoiceSchema).optional(),
  })
  .meta({ id: 'ProviderOption' });

export const providerSchema = z
  .strictObject({
    display_name: text().optional(),
    command: text()
      .optional()
      .describe('The program; a preset of this name or command lends what is not written here.'),
    args: texts().optional(),
    prompt_mode: z.enum(PROMPT_MODES).optional().describe('How the prompt reaches the program.'),
    prompt_flag: text().optional().describe('The flag before the prompt when prompt_mode is "flag".'),
    ready_delay_ms: count().optional(),
    ready_prompt_prefix: text()
      .optional()
      .describe('The program is ready when a line of its screen starts with this.'),
    process_names: texts().optional().describe('The session lives while one of these processes does.'),
    emits_permission_warning: flag().optional(),
    env: textMap().optional(),
    path_check: text().optional().describe('The program looked for on the PATH; the command by default.'),
    supports_acp: flag().optional().describe('The program can be used with session: acp.'),
    acp_command: text()
      .optional()
      .describe('What is run instead of command for session: acp, when that is another program.'),
    acp_args: texts().optional().describe('Arguments for session: acp, instead of args.'),
    supports_hooks: flag().optional(),
    instructions_file: text().optional(),
    resume_flag: text().optional(),
    resume_style: z.enum(['flag', 'subcommand']).optional(),
    resume_command: text().optional(),
    session_id_flag: text().optional(),
    permission_modes: textMap().optional(),
    option_defaults: textMap().optional(),
    options_schema: z.array(providerOptionSchema).optional(),
    print_args: texts().optional(),
    title_model: text().optional(),
  })
  .meta({
    id: 'Provider',
    description: 'An agent program: how to start it, talk to it and know it is ready.',
  });

export type RawProvider = z.infer<typeof providerSchema>;
