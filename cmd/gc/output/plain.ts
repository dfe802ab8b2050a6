import { stripVTControlCharacters } from 'node:util';

/** One line without anything that a terminal would act on: what an agent printed must not drive ours. */
export function onePlainLine(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/[\x00-\x1f\x7f-\x9f]+/g, ' ')
    .trim();
}

/** Like `onePlainLine`, but line breaks and tabs stay. */
export function plainText(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/\r\n/g, '\n')
    .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, '');
}
