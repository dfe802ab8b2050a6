import { flag, NAME_PATTERN, text, texts } from './schema-common.ts';
import { z } from './zod.ts';

/** A DNS label. */
const HOSTNAME_PATTERN = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$/;

/** `[[service]]`. Source: Gas City workspace services. */
export const serviceSchema = z
  .strictObject({
    name: z
      .string()
      .regex(NAME_PATTERN, { error: (issue) => `is not a usable name: ${JSON.stringify(issue.input)}` }),
    kind: z.enum(['', 'workflow', 'proxy_process']).optional(),
    publish_mode: z.enum(['', 'private', 'direct']).optional(),
    state_root: text().optional().describe('Below .gc/services/; by default .gc/services/<name>.'),
    publication: z
      .strictObject({
        visibility: z.enum(['', 'private', 'public', 'tenant']).optional(),
        hostname: z.string().regex(HOSTNAME_PATTERN, { error: 'is not a DNS label' }).optional(),
        allow_websockets: flag().optional(),
      })
      .optional(),
    workflow: z.strictObject({ contract: text().optional() }).optional(),
    process: z.strictObject({ command: texts().optional(), health_path: text().optional() }).optional(),
  })
  .meta({ id: 'Service' });

export type RawService = z.infer<typeof serviceSchema>;
