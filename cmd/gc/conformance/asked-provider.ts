import { type Ability, ALL_ABILITIES } from '../../../conformance/provider/abilities.ts';
import { editDistance } from '../../../internal/platform/edit-distance.ts';
import { isExecName, scriptOf } from '../../../internal/runtime/registry.ts';
import { UsageError } from '../cli/input.ts';
import { JUDGED, type JudgedKind } from './declared.ts';

export type AskedProvider =
  | { readonly kind: Exclude<JudgedKind, 'exec'>; readonly shown: string }
  | { readonly kind: 'exec'; readonly shown: string; readonly script: string };

const NAMES = JUDGED.map((kind) => (kind === 'exec' ? 'exec:<script>' : kind));

/** What `gc conformance provider <name>` is to check. @throws UsageError */
export function askedProvider(name: string): AskedProvider {
  if (isExecName(name) && scriptOf(name) !== '') return { kind: 'exec', shown: name, script: scriptOf(name) };
  const kind = JUDGED.find((each) => each === name);
  if (kind !== undefined && kind !== 'exec') return { kind, shown: kind };
  throw new UsageError(`no provider "${name}" to check (expected one of: ${NAMES.join(', ')})`);
}

/** A list of abilities as it is typed: `attach,watch`; `all`: every one. @throws UsageError with the nearest one */
export function abilitiesIn(text: string | undefined): readonly Ability[] {
  const words = (text ?? '')
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (words.includes('all')) return ALL_ABILITIES;
  return words.map((word) => {
    const known = ALL_ABILITIES.find((each) => each === word);
    if (known) return known;
    const [near] = [...ALL_ABILITIES].sort((a, b) => editDistance(a, word) - editDistance(b, word));
    throw new UsageError(
      `no ability "${word}"; did you mean "${near}"?`,
      `the abilities: ${ALL_ABILITIES.join(', ')}`,
    );
  });
}
