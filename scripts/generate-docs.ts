// `npm run docs`: writes the generated pages of docs/. A test fails when one of them is out of date.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withAbilities } from '../cmd/gc/cli/abilities-page.ts';
import { renderCliDocs } from '../cmd/gc/cli/docs.ts';
import { withVerbs } from '../cmd/gc/cli/verb-page.ts';
import { renderCapabilities } from '../cmd/gc/conformance/capabilities-page.ts';
import { groups } from '../cmd/gc/table/table.ts';
import { cityJsonSchema } from '../internal/config/schema/schema-city.ts';

const docs = join(import.meta.dirname, '..', 'docs');

writeFileSync(join(docs, 'cli.md'), renderCliDocs(groups));
const sessions = join(docs, 'sessions.md');
writeFileSync(sessions, withVerbs(readFileSync(sessions, 'utf8')));
const agents = join(docs, 'agents.md');
writeFileSync(agents, withAbilities(readFileSync(agents, 'utf8')));
writeFileSync(join(docs, 'capabilities.md'), renderCapabilities());
writeFileSync(join(docs, 'city-schema.json'), `${JSON.stringify(cityJsonSchema(), null, 2)}\n`);
