// How many requests with files there may be at once.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runInScope } from '../../src/guard/request.ts';
import { createUploads } from '../../src/media/uploads.ts';

it('uploads of one account are two at once, of one network a quarter of all, and each place comes back', async () => {
  const uploads = createUploads('/nowhere', { all: 16, perAccount: 2 });
  const begin = (account: number, network: string) =>
    runInScope(network, (scope) => {
      scope.identify(account);
      return uploads.begin();
    });
  const isRefused = { code: 'OVERLOADED' };
  const first = await begin(1, 'a');
  await begin(1, 'a');
  await assert.rejects(begin(1, 'b'), isRefused);
  await begin(2, 'a');
  await begin(2, 'a');
  await assert.rejects(begin(3, 'a'), isRefused, 'the network has its quarter');
  await begin(3, 'b');
  await first.end();
  await begin(1, 'c');
  await assert.rejects(begin(1, 'c'), isRefused);
});
