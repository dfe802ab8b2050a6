import type { BeadWrite } from '../beads/sqlite/city-database.ts';
import { canRoute, type Provider } from '../runtime/provider.ts';
import type { SessionRecord } from '../session/record.ts';
import type { OrderedSurvey } from './model.ts';

/** What the records say of where their sessions are, to a provider that has more than one place for them. */
export function tellRoutes(provider: Provider, records: readonly SessionRecord[]): void {
  if (!canRoute(provider)) return;
  for (const { sessionName, transport } of records)
    if (sessionName !== '') provider.routeTo(sessionName, transport);
}

/** Records whose session runs elsewhere than they say: what is seen is right. */
export function routeChanges(
  provider: Provider,
  { survey }: OrderedSurvey,
  records: readonly SessionRecord[],
): readonly BeadWrite[] {
  if (!canRoute(provider) || survey.kind !== 'seen') return [];
  return records.flatMap((record): BeadWrite[] => {
    const seen = survey.sessions.get(record.sessionName);
    if (seen?.liveness.kind !== 'running') return [];
    const transport = provider.routeOf(record.sessionName);
    if (transport === record.transport) return [];
    return [{ kind: 'update', id: record.id, patch: { metadata: { transport } } }];
  });
}
