// Who waits for whom where there is less than all ask for: turns, shares and lines of `limitRuns`.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { poolBounds, slowCallBounds } from '../../src/db/client.ts';
import { limitRuns } from '../../src/guard/admission.ts';
import { makeFile } from '../../src/guard/files.ts';
import { OverloadError } from '../../src/guard/overload.ts';
import { runInScope } from '../../src/guard/request.ts';
import { restAfter, spareWork } from '../../src/guard/rest.ts';
import { type Answer, makeList } from '../../src/http/wire/reply.ts';

describe('what is scarce', () => {
  it('goes to networks by turns: one that asks for much waits for itself', async () => {
    const limited = limitRuns({ slots: 2, queue: 100, waitMs: 10_000 });
    const order: string[] = [];
    const ask = (network: string) =>
      runInScope(network, () =>
        limited(async () => {
          order.push(network);
          await sleep(5);
        }),
      );
    const all = [...Array.from({ length: 20 }, () => ask('many')), ask('other'), ask('third')];
    await Promise.all(all);
    assert.ok(order.indexOf('other') <= 3, order.join());
    assert.ok(order.indexOf('third') <= 4, order.join());
  });

  it('S5.3 long lists: an account has one made at a time, from however many networks; whoever asks for a short one, or somebody else, waits for none', async () => {
    const answer: Answer = { body: '', type: '', status: 200 };
    let [running, most] = [0, 0];
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const ask = (network: string, account: number, limit: number) =>
      runInScope(network, (scope) => {
        scope.identify(account);
        return makeList(limit, async () => {
          if (account !== 7 || limit <= 100) return answer;
          most = Math.max(most, ++running);
          await released;
          running--;
          return answer;
        });
      });
    const long = Array.from({ length: 10 }, (_, n) => ask(`net ${n}`, 7, 1000));
    await Promise.all([ask('net 0', 7, 100), ask('net 0', 7, 20), ask('other', 8, 1000), ask('third', 9, 101)]);
    assert.equal(most, 1);
    release();
    await Promise.all(long);
    assert.equal(most, 1);
  });

  it('S5.3 for what may take long: who keeps a place, and one who needs another for long, leave one to those who need it shortly', async () => {
    const limited = limitRuns(slowCallBounds);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const keep = ['flood', 'flood', 'flood', 'patient'].map((network) => runInScope(network, () => limited(() => released)));
    for (const network of ['third', 'fourth', 'third']) await runInScope(network, () => limited(async () => {}));
    release();
    await Promise.all(keep);
  });

  it('is waited for anew by what goes on: an archive of hundreds of statements was broken off by the first that found no connection free', async () => {
    const limited = limitRuns({ slots: 1, queue: 10, waitMs: 150 });
    const [goesOn, doesNot] = await Promise.all(
      [true, false].map((isLong) =>
        runInScope(`network ${isLong}`, async (scope) => {
          await sleep(200);
          if (isLong) scope.goOn();
          const others = [runInScope('other', () => limited(() => sleep(20)))];
          const outcome = await limited(async () => 'had').catch((error: unknown) => error);
          await Promise.all(others);
          return outcome;
        }),
      ),
    );
    assert.equal(goesOn, 'had');
    assert.ok(doesNot instanceof OverloadError);
  });

  it('is waited for no longer by a request that comes several times: its waits count together', async () => {
    const limited = limitRuns({ slots: 1, queue: 10, waitMs: 400, isApart: true });
    const runs = runInScope('other', async () => {
      for (let run = 0; run < 4; run++) await limited(() => sleep(150));
    });
    let had = 0;
    const ask = runInScope('patient', async () => {
      // By turns with the other: each time behind one of its runs.
      for (; had < 4; had++) await limited(async () => {});
    });
    await assert.rejects(ask, OverloadError);
    assert.ok(had > 0 && had < 4, `${had}`);
    await runs;
  });

  it('goes to an account by turns as well: one that asks from many networks waits for itself', async () => {
    const limited = limitRuns({ slots: 2, queue: 100, waitMs: 10_000 });
    const order: (number | null)[] = [];
    const ask = (network: string, account: number | null) =>
      runInScope(network, async (scope) => {
        if (account !== null) scope.identify(account);
        await limited(async () => {
          order.push(account);
          await sleep(5);
        });
      });
    const many = Array.from({ length: 40 }, (_, n) => ask(`net ${n % 20}`, 7));
    await Promise.all([...many, ask('other', 8), ask('third', null), ask('third', null)]);
    // Not after the twenty networks' turns: every other one is somebody else's.
    for (const account of [8, null]) assert.ok(order.indexOf(account) <= 6, order.join());
    assert.ok(order.lastIndexOf(null) <= 8, order.join());
  });

  it('goes to an account with something under way as to others, when it asks from one network', async () => {
    const limited = limitRuns({ slots: 2, queue: 100, waitMs: 10_000 });
    const order: string[] = [];
    const ask = (network: string, account: number | null, ms: number) =>
      runInScope(network, async (scope) => {
        if (account !== null) scope.identify(account);
        await limited(async () => {
          order.push(network);
          await sleep(ms);
        });
      });
    const slow = ask('home', 7, 100);
    const others = Array.from({ length: 20 }, (_, n) => ask(`net ${n % 2}`, null, 5));
    await Promise.all([slow, ...others, ask('home', 7, 5)]);
    assert.ok(order.lastIndexOf('home') <= 5, order.join());
  });

  it('of a login name goes to networks by turns: who floods a name keeps its owner waiting no longer than others', async () => {
    for (const names of [['anna'], ['anna', 'x', 'y']]) {
      const limited = limitRuns({ slots: 4, share: 3, queue: 200, waitMs: 10_000 });
      const order: string[] = [];
      const ask = (network: string, name: string) =>
        runInScope(network, async (scope) => {
          scope.countFor(`passwords ${name}`);
          await limited(async () => {
            order.push(network);
            await sleep(5);
          });
        });
      const flood = Array.from({ length: 60 }, (_, n) => ask('flood', names[n % names.length] ?? ''));
      await Promise.all([...flood, ask('home', 'anna')]);
      assert.ok(order.indexOf('home') <= 8, order.join());
    }
  });

  it('rests for an account that has shown to be its owner, from however many networks; for one that is only named it does not', async () => {
    const ranOf = async (isRight: boolean) => {
      const hashed = limitRuns({
        ...{ slots: 3, share: 2, namedShare: 3, queue: 100, waitMs: 10_000 },
        restMs: () => 400,
        proves: (result) => result === true,
      });
      let ran = 0;
      const all = Array.from({ length: 12 }, (_, n) =>
        runInScope(`net ${n}`, (scope) => {
          scope.countFor('passwords anna');
          return hashed(async () => {
            ran++;
            return isRight;
          });
        }),
      );
      await sleep(50);
      const soon = ran;
      const begin = performance.now();
      await runInScope('other', (scope) => {
        scope.countFor('passwords otto');
        return hashed(async () => true);
      });
      assert.ok(performance.now() - begin < 300);
      await Promise.all(all);
      assert.equal(ran, 12);
      return soon;
    };
    assert.equal(await ranOf(true), 3);
    assert.equal(await ranOf(false), 12);
  });

  it('of a login name is not all of one network’s: beside one that floods it, its owner finds a place at once', async () => {
    const limited = limitRuns({ slots: 5, share: 3, namedShare: 4, queue: 200, waitMs: 10_000 });
    const hashed = limitRuns({ slots: 3, share: 2, namedShare: 3, queue: 10, waitMs: 10_000, restMs: () => 2000 });
    const ask = (network: string, name: string) =>
      runInScope(network, (scope) => {
        scope.countFor(`passwords ${name}`);
        return limited(() => hashed(() => sleep(5)));
      });
    const flood = Array.from({ length: 6 }, () => ask('flood', 'anna'));
    await sleep(100);
    const begin = performance.now();
    await Promise.all([ask('home', 'anna'), ask('away', 'otto')]);
    const ms = performance.now() - begin;
    assert.ok(ms < 1000, `${ms} ms`);
    await Promise.all(flood);
    // Many networks leave one to whoever names another.
    let most = 0;
    let running = 0;
    const many = Array.from({ length: 20 }, (_, n) =>
      runInScope(`net ${n}`, (scope) => {
        scope.countFor('passwords anna');
        return limited(async () => {
          most = Math.max(most, ++running);
          await sleep(5);
          running--;
        });
      }),
    );
    await Promise.all(many);
    assert.equal(most, 4);
  });

  it('is not all of one network’s or one account’s, also when nobody else asks', async () => {
    const limited = limitRuns({ slots: 4, share: 2, queue: 100, waitMs: 10_000 });
    let most = 0;
    const running = new Map<string, number>();
    const ask = (network: string, account: number | null, key: string) =>
      runInScope(network, async (scope) => {
        if (account !== null) scope.identify(account);
        await limited(async () => {
          running.set(key, (running.get(key) ?? 0) + 1);
          most = Math.max(most, running.get(key) ?? 0);
          await sleep(5);
          running.set(key, (running.get(key) ?? 0) - 1);
        });
      });
    await Promise.all(Array.from({ length: 12 }, () => ask('one', null, 'one')));
    assert.equal(most, 2);
    // The same account from many networks.
    await Promise.all(Array.from({ length: 12 }, (_, n) => ask(`net ${n}`, 7, 'account')));
    assert.equal(most, 2);
  });

  describe('of the pool, beside others who ask too', () => {
    const workMuch = (network: string, account = 0) =>
      runInScope(network, async (scope) => {
        if (account) scope.identify(account);
        restAfter(2 * spareWork.atOnceMs);
      });
    const askTwelveTimes = (limited: ReturnType<typeof limitRuns>, network: string, account = 0) =>
      runInScope(network, async (scope) => {
        if (account) scope.identify(account);
        let [running, most] = [0, 0];
        await Promise.all(
          Array.from({ length: 12 }, () =>
            limited(async () => {
              most = Math.max(most, ++running);
              await sleep(5);
              running--;
            }),
          ),
        );
        return most;
      });

    it('is halved for who works much, for nobody else and for nobody alone', async () => {
      const limited = limitRuns(poolBounds(4));
      const ask = (network: string, account?: number) => askTwelveTimes(limited, network, account);
      await workMuch('an office', 11);
      assert.equal(await ask('an office'), 4);
      assert.equal(await ask('somebody'), 4);
      assert.equal(await ask('an office'), 2);
      // An account that asks from elsewhere.
      assert.equal(await ask('a home', 11), 2);
      assert.equal(await ask('a home'), 4);
    });

    it('is whole beside photos, where what was done rests, and what rests is none of the half', async () => {
      let isLong = false;
      const limited = limitRuns({ ...poolBounds(4), waitMs: 1000, restMs: () => (isLong ? 2000 : 0) });
      await workMuch('a bureau');
      await askTwelveTimes(limited, 'somebody');
      const { promise: end, resolve } = Promise.withResolvers<void>();
      const photo = runInScope('photographer', () => makeFile(() => end));
      assert.equal(await askTwelveTimes(limited, 'a bureau'), 4);
      resolve();
      await photo;
      isLong = true;
      await runInScope('a bureau', () => Promise.all([1, 2].map(() => limited(async () => {}))));
      isLong = false;
      assert.equal(await askTwelveTimes(limited, 'a bureau'), 2);
    });
  });

  it('lets a network wait for half of the places only, and a place whose run failed comes back', async () => {
    const limited = limitRuns({ slots: 1, queue: 10, waitMs: 10_000 });
    const ask = (network: string) =>
      runInScope(network, () => limited(() => sleep(20).then(() => Promise.reject(new Error('x')))));
    const many = await Promise.allSettled([...Array.from({ length: 9 }, () => ask('many')), ask('other')]);
    const refused = many.map((each) => each.status === 'rejected' && each.reason instanceof OverloadError);
    assert.deepEqual(refused, [false, false, false, false, false, false, true, true, true, false]);
    await runInScope('many', () => limited(async () => {}));
  });

  it('gives a place in a line that is full to whoever has fewer there, at the cost of whoever has most', async () => {
    const limited = limitRuns({ slots: 1, queue: 8, waitMs: 10_000 });
    const done: string[] = [];
    const ask = (network: string) =>
      runInScope(network, () => limited(() => sleep(5))).then(
        () => done.push(network),
        () => done.push(`${network} refused`),
      );
    // Two that share all places, each within its half.
    const all = ['one', 'two'].flatMap((network) => Array.from({ length: 5 }, () => ask(network)));
    await Promise.all([...all, ask('other'), ask('third')]);
    const count = (what: string) => done.filter((entry) => entry === what).length;
    assert.deepEqual([count('other'), count('third'), count('other refused') + count('third refused')], [1, 1, 0], done.join());
    assert.ok(count('one') >= 3 && count('two') >= 3, done.join());
  });
});
