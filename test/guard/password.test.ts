// Hashing beside photos: who does nothing but log in leaves the cores to them.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { limitRuns } from '../../src/guard/admission.ts';
import { hashPassword, sha1OfPlain } from '../../src/guard/password.ts';
import { runInScope } from '../../src/guard/request.ts';

const sha1 = sha1OfPlain('geheim');

/** Passwords that a network gets hashed in a while, and how long the first took. */
async function hashAWhile(): Promise<{ count: number; firstMs: number }> {
  const begin = performance.now();
  let count = 0;
  let firstMs = 0;
  const lane = async () => {
    while (performance.now() - begin < 1500) {
      await runInScope('one', () => hashPassword(sha1));
      firstMs ||= performance.now() - begin;
      count++;
    }
  };
  await Promise.all([lane(), lane()]);
  return { count, firstMs };
}

it('S3.7 one network gets fewer than half as many passwords hashed while there are photos, and none later for it', async () => {
  const alone = await hashAWhile();
  await sleep(300);
  let endPhoto = () => {};
  const photo = limitRuns({ name: 'photos', slots: 1, queue: 1, waitMs: 1000 })(
    () => new Promise<void>((resolve) => (endPhoto = resolve)),
  );
  const beside = await hashAWhile();
  endPhoto();
  await photo;
  assert.ok(beside.count < alone.count / 2, `${beside.count} beside photos, ${alone.count} without`);
  assert.ok(beside.firstMs < 1000, `${beside.firstMs} ms`);
});
