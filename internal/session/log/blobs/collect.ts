import type { BlobStore, StoredBlob } from './blob-store.ts';

/** A blob is written before the record that names it: a young one may still be waiting for its record. */
const GRACE_MS = 86_400_000;

export interface CollectedBlobs {
  readonly count: number;
  readonly bytes: number;
}

/** Removes the blobs that none of the kept logs names. `named` is asked only when there is something to judge. */
export async function collectBlobs(
  blobs: Pick<BlobStore, 'list' | 'remove'>,
  named: () => Promise<ReadonlySet<string>>,
  { now, dryRun }: { readonly now: number; readonly dryRun: boolean },
): Promise<CollectedBlobs> {
  const putBefore = now - GRACE_MS;
  const old: StoredBlob[] = [];
  for await (const blob of blobs.list()) if (blob.putAt < putBefore) old.push(blob);
  if (old.length === 0) return { count: 0, bytes: 0 };
  const kept = await named();
  const gone: StoredBlob[] = [];
  for (const blob of old.filter(({ hash }) => !kept.has(hash))) {
    if (dryRun || (await blobs.remove(blob.hash, putBefore))) gone.push(blob);
  }
  return { count: gone.length, bytes: gone.reduce((sum, { bytes }) => sum + bytes, 0) };
}
