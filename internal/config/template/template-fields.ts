/** The names that templates may use, by where the template stands. Source: Gas City configuration reference. */
export const WORK_DIR_FIELDS = ['Agent', 'AgentBase', 'Rig', 'RigRoot', 'CityRoot', 'CityName'] as const;

/** start_command, pre_start, session_setup, session_live. */
export const COMMAND_FIELDS = ['Session', ...WORK_DIR_FIELDS, 'WorkDir', 'ConfigDir'] as const;

export const SESSION_NAME_FIELDS = ['City', 'Agent', 'Dir', 'Name'] as const;

export const RESUME_FIELDS = ['SessionKey'] as const;

/** Prompts; the agent's own `env` names are allowed too. */
export const PROMPT_FIELDS = [
  'CityRoot',
  'AgentName',
  'TemplateName',
  'RigName',
  'RigRoot',
  'WorkDir',
  'IssuePrefix',
  'Branch',
  'DefaultBranch',
  'WorkQuery',
  'SlingQuery',
] as const;

export type CommandFields = Readonly<Record<(typeof COMMAND_FIELDS)[number], string>>;
export type WorkDirFields = Readonly<Record<(typeof WORK_DIR_FIELDS)[number], string>>;
export type PromptFields = Readonly<Record<(typeof PROMPT_FIELDS)[number], string>>;
