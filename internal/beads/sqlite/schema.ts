import { EVENT_SCHEMA } from '../../events/event-table.ts';
import { INBOX_SCHEMA } from './inbox-table.ts';
import { INTERACTION_SCHEMA } from './interaction-table.ts';
import { OUTBOX_SCHEMA } from './outbox-table.ts';
import { TRACE_SCHEMA } from './trace-table.ts';

/**
 * Labels and metadata are JSON columns: a bead is read and written as one row. The two unique indexes let no two open
 * session records carry one runtime name or one alias, whichever process writes.
 */
const BEADS = `
CREATE TABLE beads (
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('open', 'in_progress', 'closed')),
  issue_type TEXT NOT NULL,
  priority INTEGER,
  created_at TEXT NOT NULL,
  assignee TEXT NOT NULL,
  sender TEXT NOT NULL,
  parent TEXT NOT NULL,
  ref TEXT NOT NULL,
  description TEXT NOT NULL,
  labels TEXT NOT NULL CHECK (json_valid(labels)),
  metadata TEXT NOT NULL CHECK (json_valid(metadata)),
  revision INTEGER NOT NULL
);
CREATE INDEX beads_by_type ON beads (issue_type, status);
CREATE INDEX beads_by_assignee ON beads (assignee) WHERE assignee <> '';
CREATE INDEX beads_by_parent ON beads (parent) WHERE parent <> '';
CREATE UNIQUE INDEX live_session_name ON beads (json_extract(metadata, '$.session_name'))
  WHERE issue_type = 'session' AND status <> 'closed' AND json_extract(metadata, '$.session_name') IS NOT NULL;
CREATE UNIQUE INDEX live_session_alias ON beads (json_extract(metadata, '$.alias'))
  WHERE issue_type = 'session' AND status <> 'closed' AND json_extract(metadata, '$.alias') IS NOT NULL;
CREATE INDEX session_names ON beads (json_extract(metadata, '$.session_name'))
  WHERE json_extract(metadata, '$.session_name') IS NOT NULL;

CREATE TABLE dependencies (
  issue_id TEXT NOT NULL,
  depends_on_id TEXT NOT NULL,
  type TEXT NOT NULL,
  PRIMARY KEY (issue_id, depends_on_id)
) WITHOUT ROWID;
CREATE INDEX dependencies_up ON dependencies (depends_on_id);
`;

const DECISIONS = `
CREATE TABLE decisions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  what TEXT NOT NULL,
  why TEXT NOT NULL,
  inputs TEXT NOT NULL,
  lines TEXT
);
CREATE INDEX decisions_by_session ON decisions (session_id, id);
`;

const CITY_STATE = `
CREATE TABLE city_state (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;
`;

/** What people and scripts ask about work: when it was changed and closed, what was noted and said. */
const WORK = `
ALTER TABLE beads ADD COLUMN updated_at TEXT;
ALTER TABLE beads ADD COLUMN closed_at TEXT;
ALTER TABLE beads ADD COLUMN notes TEXT NOT NULL DEFAULT '';
CREATE INDEX beads_by_status ON beads (status);

CREATE TABLE bead_comments (
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  bead_id TEXT NOT NULL,
  author TEXT NOT NULL,
  text TEXT NOT NULL,
  created_at TEXT NOT NULL
);
CREATE INDEX comments_by_bead ON bead_comments (bead_id, num);
`;

/** Step n brings the schema from version n to n + 1. Released steps are never edited. */
export const CITY_MIGRATIONS: readonly string[] = [
  BEADS + DECISIONS + CITY_STATE + EVENT_SCHEMA,
  WORK,
  INBOX_SCHEMA,
  OUTBOX_SCHEMA,
  INTERACTION_SCHEMA,
  TRACE_SCHEMA,
];
