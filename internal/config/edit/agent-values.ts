import { rm } from 'node:fs/promises';
import { parseText } from '../document/read-source.ts';
import { setValue } from './document-edit.ts';
import { agentPath, type EditedCity, type EditResult, placeOf } from './edit-city.ts';
import { unreadable } from './edit-error.ts';
import { type EditPlace, editFile, fileEditIo } from './file-edit.ts';

/**
 * Sets values where the agent is declared; comments, order and layout of the file stay. When `check` throws, the file is
 * as it was. @throws EditError, GcError `config-locked`, what `check` throws
 */
export async function setAgentValues(
  city: EditedCity,
  qualifiedName: string,
  values: Readonly<Record<string, number>>,
  around: { readonly place: EditPlace; readonly check: () => Promise<void> },
): Promise<EditResult> {
  const { place, check } = around;
  const { file, isManifest, isNew } = await placeOf(city, { kind: 'agent', qualifiedName });
  if (isNew) return { file, changed: await newFile(file, values, place, check) };
  let changed = false;
  const change = async (text: string): Promise<string> => {
    const edited = await withValues(text, file, { qualifiedName, isManifest, values });
    changed = edited !== text;
    return edited;
  };
  await editFile(place, file, change, check);
  return { file, changed };
}

async function withValues(
  text: string,
  file: string,
  edit: {
    readonly qualifiedName: string;
    readonly isManifest: boolean;
    readonly values: Readonly<Record<string, number>>;
  },
): Promise<string> {
  let edited = text;
  for (const [key, value] of Object.entries(edit.values)) {
    const parsed = await parseText(file, edited);
    if (parsed.kind !== 'parsed') {
      throw unreadable(file, parsed.problems);
    }
    const path = agentPath(parsed.document, edit.qualifiedName, edit.isManifest);
    edited = await setValue(edited, file, [...path, key], value);
  }
  return edited;
}

/** An agent folder without a manifest gets one. */
async function newFile(
  file: string,
  values: Readonly<Record<string, number>>,
  place: EditPlace,
  check: () => Promise<void>,
): Promise<boolean> {
  const text = await withValues('', file, { qualifiedName: '', isManifest: true, values });
  const io = fileEditIo(place);
  return io.withLock(file, async () => {
    await io.write(file, text);
    try {
      await check();
    } catch (error) {
      await rm(file, { force: true });
      throw error;
    }
    return true;
  });
}
