// A whole provider in memory, written as somebody outside would: against the published contract alone. Prints the reports.
import { ALL_ABILITIES } from 'gas-city/conformance/provider/abilities';
import { runSuite } from 'gas-city/conformance/provider/run';
import { PROVIDER_CASES } from 'gas-city/conformance/provider/suite';
import { InvalidSessionNameError, SessionExistsError } from 'gas-city/runtime/errors';
import { EMPTY_RUNTIME_CONFIG } from 'gas-city/runtime/runtime-config';

const sessions = new Map();
const nothing = async () => undefined;
const provider = {
  kind: 'tiny',
  async start(name, config) {
    if (!/^[a-zA-Z0-9_-]{1,200}$/.test(name)) throw new InvalidSessionNameError(name);
    if (sessions.has(name)) throw new SessionExistsError(name);
    sessions.set(name, new Map(Object.entries(config.env)));
    return { kind: 'ready', answered: [], warnings: [] };
  },
  stop: async (name) => void sessions.delete(name),
  isRunning: async (name) => (sessions.has(name) ? 'yes' : 'no'),
  isAttached: async () => 'no',
  processAlive: async (name, names) => (names.length === 0 || sessions.has(name) ? 'yes' : 'no'),
  nudge: async (name) =>
    sessions.has(name) ? { kind: 'delivered', tookMs: 0, verified: false } : { kind: 'no-session' },
  setMeta: async (name, key, value) => void sessions.get(name)?.set(key, value),
  // The second argument breaks it: metadata then outlives its session.
  getMeta: async (name, key) => sessions.get(name)?.get(key) ?? (process.argv[3] === 'broken' ? '1' : ''),
  removeMeta: async (name, key) => void sessions.get(name)?.delete(key),
  peek: async () => '',
  listRunning: async (prefix) => [...sessions.keys()].filter((name) => name.startsWith(prefix)),
  getLastActivity: nothing,
  clearScrollback: nothing,
  copyTo: nothing,
  sendKeys: nothing,
  interrupt: nothing,
  runLive: async () => [],
  capabilities: () => ({ canReportAttachment: false, canReportActivity: false }),
};
const subject = {
  title: 'tiny',
  provider,
  offers: new Set(ALL_ABILITIES.filter((each) => each === 'env-as-meta')),
  scratch: process.argv[2],
  config: () => EMPTY_RUNTIME_CONFIG,
};
const reports = await runSuite(PROVIDER_CASES, subject, { atOnce: 4 });
process.stdout.write(JSON.stringify(reports.map(({ test, result }) => ({ name: test.name, result }))));
