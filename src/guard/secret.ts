// The key that signs cursors and the addresses of files.
import { createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Where the key of a data directory is kept. */
export const secretKeyPath = (dataDir: string) => join(dataDir, 'secret.key');

/** The configured key, or the one of this data directory, which is made at the first start. */
export async function loadSecretKey(configured: string | null, dataDir: string): Promise<KeyObject> {
  const secret = configured ?? (await readOrMake(dataDir));
  return createSecretKey(createHash('sha256').update(`species-sighting-service\0${secret}`).digest());
}

async function readOrMake(dataDir: string): Promise<string> {
  const path = secretKeyPath(dataDir);
  const read = () =>
    readFile(path, 'utf8').then(
      (text) => text.trim(),
      () => '',
    );
  const existing = await read();
  if (existing.length >= 32) return existing;
  await mkdir(dataDir, { recursive: true });
  // Written aside and linked: of two first starts one wins, and a crash leaves no half key.
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
  await link(draft, path).catch(() => {});
  await rm(draft);
  return read();
}
