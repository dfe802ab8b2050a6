import { UsageError } from '../cli/input.ts';

/** RFC 1123 label. Source: agentsessions.v1 HarnessRegistry. */
const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

export interface NamedHarness {
  readonly name: string;
  /** Not looked at yet. */
  readonly address: string;
}

/** A harness that runs elsewhere, from `--harness name=address`. @throws UsageError */
export function namedHarness(text: string): NamedHarness {
  const cut = text.indexOf('=');
  const name = text.slice(0, Math.max(0, cut));
  if (NAME.test(name)) return { name, address: text.slice(cut + 1) };
  throw new UsageError(
    `--harness ${JSON.stringify(text)} is not name=address`,
    'write for example coder=127.0.0.1:9000; names are of small letters, digits and inner dashes',
  );
}
