import { GcError } from '../../platform/errors.ts';

/** `agent-not-found`, `ambiguous-edit`, `already-there`, `not-there`, `config-unreadable`. The file is left alone in each case. */
export class EditError extends GcError {}
