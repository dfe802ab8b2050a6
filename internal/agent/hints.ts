import type { Agent, City } from '../config/city.ts';
import type { ResolvedPreset } from '../config/preset/resolve-preset.ts';
import { renderTemplate } from '../config/template/go-template.ts';
import type { CommandFields } from '../config/template/template-fields.ts';

/** A file or folder that is copied into the work dir before the start. */
export interface CopyHint {
  readonly src: string;
  /** Relative to the work dir; `''` is its root. */
  readonly relDst: string;
  /** Found by looking at the disk, not named in the config. */
  readonly probed: boolean;
  /** Lowercase hex SHA-256, `''` when it could not be read. */
  readonly contentHash: string;
}

/**
 * What the configuration says about starting one session, templates expanded: the part of a runtime configuration
 * that does not depend on prompt, environment or record. Source: Gas City `internal/agent` StartupHints.
 */
export interface StartupHints {
  readonly readyPromptPrefix: string;
  readonly readyDelayMs: number;
  readonly processNames: readonly string[];
  readonly emitsPermissionWarning: boolean;
  readonly nudge: string;
  readonly preStart: readonly string[];
  readonly sessionSetup: readonly string[];
  readonly sessionSetupScript: string;
  readonly sessionLive: readonly string[];
  /** The preset's kind. */
  readonly providerName: string;
  readonly installAgentHooks: readonly string[];
  readonly packOverlayDirs: readonly string[];
  readonly overlayDir: string;
  readonly copyFiles: readonly CopyHint[];
  readonly pty: boolean;
  readonly setupTimeoutMs: number;
}

/** @throws TemplateError when a command of the agent cannot be rendered. */
export function startupHints(
  city: Pick<City, 'workspace' | 'session'> & Partial<Pick<City, 'layers'>>,
  agent: Agent,
  preset: ResolvedPreset,
  fields: CommandFields,
  copyFiles: readonly CopyHint[] = [],
): StartupHints {
  const expand = (key: string, texts: readonly string[]) =>
    texts.map((text, index) =>
      renderTemplate(text, fields, `${key}[${index}] of agent "${agent.qualifiedName}"`),
    );
  return {
    readyPromptPrefix: preset.readyPromptPrefix,
    readyDelayMs: preset.readyDelayMs,
    processNames: preset.processNames,
    emitsPermissionWarning: preset.emitsPermissionWarning,
    nudge: agent.nudge,
    preStart: expand('pre_start', agent.preStart),
    sessionSetup: expand('session_setup', agent.sessionSetup),
    sessionSetupScript: agent.sessionSetupScript,
    sessionLive: expand('session_live', agent.sessionLive),
    providerName: preset.kind,
    installAgentHooks: agent.installAgentHooks ?? city.workspace.installAgentHooks,
    packOverlayDirs: packOverlays(city, fields.Rig),
    overlayDir: agent.overlayDir,
    copyFiles,
    pty: agent.pty,
    setupTimeoutMs: city.session.setupTimeoutMs,
  };
}

/** Those of the city's packs, then those of the packs of the agent's rig. */
function packOverlays({ layers }: Partial<Pick<City, 'layers'>>, rig: string): readonly string[] {
  if (!layers) return [];
  const { overlays } = layers;
  return [...new Set([...overlays.city, ...(overlays.rigs[rig] ?? [])])];
}

/** The preset's command line with the templates of a start command expanded. @throws TemplateError */
export function expandCommand(command: string, agent: Agent, fields: CommandFields): string {
  return renderTemplate(command, fields, `start_command of agent "${agent.qualifiedName}"`);
}
