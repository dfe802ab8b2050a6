import { normalize } from 'node:path';
import type { Service } from '../city.ts';
import type { ServiceEntry } from '../compose/draft.ts';
import { placeOf } from '../compose/entry.ts';
import type { ProblemList } from '../document/problems.ts';

const STATE_HOME = '.gc/services/';
/** The workflow contracts that exist. Source: Gas City workspace services. */
const CONTRACTS: ReadonlySet<string> = new Set(['gc.healthz.v1']);

/** Services one by one and together. Source: Gas City service validation. */
export function validateServices(
  entries: readonly ServiceEntry[],
  services: readonly Service[],
  problems: ProblemList,
): void {
  const names = new Map<string, Service>();
  const roots = new Map<string, Service>();
  services.forEach((service, index) => {
    const entry = entries[index];
    if (!entry) return;
    const label = `service "${service.name}"`;
    const refuse = (code: string, message: string, keys: readonly string[], hint?: string) =>
      problems.error(code, `${label}: ${message}`, placeOf(entry, keys, 'value'), hint);
    const other = names.get(service.name);
    if (other) {
      refuse(
        'duplicate-service',
        `duplicate name (from "${other.sourceDir}" and "${service.sourceDir}")`,
        ['name'],
        'two packs publish a service of this name: keep one of them',
      );
    } else names.set(service.name, service);
    const root = normalize(service.stateRoot).replace(/\/$/, '');
    if (!`${root}/`.startsWith(STATE_HOME) || `${root}/` === STATE_HOME) {
      refuse('bad-value', `state_root "${service.stateRoot}" is not below ${STATE_HOME}`, ['state_root']);
    }
    const shared = roots.get(root);
    if (!other && shared && shared.sourceDir !== service.sourceDir) {
      refuse('bad-value', `state_root "${root}" is the one of service "${shared.name}" of another pack`, [
        'state_root',
      ]);
    } else roots.set(root, service);
    if (service.publishMode === 'direct' && service.publication.visibility !== 'public') {
      refuse('bad-value', 'publish_mode "direct" is public', ['publication', 'visibility']);
    }
    if (service.kind === 'workflow') {
      const { contract } = service.workflow;
      if (contract === '') refuse('missing-key', 'a workflow needs workflow.contract', ['kind']);
      else if (!CONTRACTS.has(contract)) {
        refuse(
          'bad-value',
          `unknown contract "${contract}"`,
          ['workflow', 'contract'],
          [...CONTRACTS].join(', '),
        );
      }
    } else if (service.process.command.length === 0) {
      refuse('missing-key', 'a proxy_process needs process.command', ['kind']);
    }
  });
}
