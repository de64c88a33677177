import type { Storage, StoredMedium } from '../../src/media/storage.ts';

/** All that a storage lists. */
export async function collectMedia(storage: Storage): Promise<StoredMedium[]> {
  const media: StoredMedium[] = [];
  for await (const medium of storage.list()) media.push(medium);
  return media;
}
