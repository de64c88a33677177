// What guards the service: the one limit (places, shares, a bounded queue, a longest wait), one look for many who ask at the same time,
// the scope of a request, and boundaries that would take too long.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { coalesce } from '../../src/guard/coalesce.ts';
import { countCrossings, maxCrossings } from '../../src/guard/geometry.ts';
import { Limit, type LimitOptions, OverloadError } from '../../src/guard/limit.ts';
import { readMailAddress } from '../../src/guard/mail-address.ts';
import { currentScope, runInScope, runOutsideScope } from '../../src/guard/request.ts';
import { openTestDatabase } from '../support/database.ts';

describe('the address of a mailbox', () => {
  const taken: [given: string, address?: string][] = [
    ["o'neill@example.org"],
    ['Anna+ff@Example.org'],
    ['a!#$%&*/=?^_`{|}~-b.c@x.co.uk'],
    ['info@xn--mller-kva.example'],
    ['anna@müller.example', 'anna@xn--mller-kva.example'],
    ['anna@MÜLLER.example', 'anna@xn--mller-kva.example'],
    ['anna@mu\u0308ller.example', 'anna@xn--mller-kva.example'],
    ['a@straße.de', 'a@xn--strae-oqa.de'],
    ['a@пример.рф', 'a@xn--e1afmkfd.xn--p1ai'],
  ];
  for (const [given, address = given] of taken) it(`is ${given}`, () => assert.deepEqual(readMailAddress(given), { address }));

  const refused: [given: string, reason: string][] = [
    ['', ' wie name@example.org'],
    ['a@b@example.org', ' wie name@example.org'],
    ['a b@example.org', ' wie name@example.org'],
    ['jörg@example.org', ' ohne „ö“ vor dem @, das viele Mailserver nicht annehmen'],
    ['a\u200bb@example.org', ' ohne „·“ vor dem @, das viele Mailserver nicht annehmen'],
    ['"a"@example.org', ' ohne „"“ vor dem @'],
    ['a..b@example.org', ' ohne Punkt am Anfang, am Ende oder neben einem anderen vor dem @'],
    [`${'a'.repeat(243)}@example.org`, ' mit höchstens 254 Zeichen'],
    [`${'a'.repeat(231)}@${'ü'.repeat(9)}.example`, ' mit höchstens 254 Zeichen'],
    ...['a@b', 'a@1.2.3.4', 'a@[::1]', 'a@x..de', 'a@-x.de', 'a@x_y.de', 'a@ü/x.de', 'a@ü%2e.de', `a@${'x'.repeat(64)}.de`].map(
      (given): [string, string] => [given, ' mit einer Domain wie example.org hinter dem @'],
    ),
  ];
  for (const [given, reason] of refused)
    it(`is not ${JSON.stringify(given.slice(0, 40))}`, () =>
      assert.deepEqual(readMailAddress(given), { allowed: `eine E-Mail-Adresse${reason}` }));
});

const wide: LimitOptions = { slots: 2, queue: 100, waitMs: 10_000 };
const refusedFor = (reason: string) => (error: unknown) => error instanceof OverloadError && error.reason === reason;

/** Keeps places until it is told to give them back. */
function holding(limit: Limit) {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { hold: () => limit.run(() => promise), release: resolve };
}

describe('the limit', () => {
  it('S5.3 runs no more at once than there are places', async () => {
    const limit = new Limit(wide);
    let [running, most] = [0, 0];
    const work = async () => {
      most = Math.max(most, ++running);
      await sleep(2);
      running--;
    };
    await Promise.all(Array.from({ length: 20 }, () => limit.run(work)));
    assert.equal(most, 2);
    assert.deepEqual([limit.running, limit.waiting], [0, 0]);
  });

  it('S5.3 a network has its share, and whoever comes then finds a place', async () => {
    const limit = new Limit({ ...wide, slots: 3, share: 2 });
    const { hold, release } = holding(limit);
    const flood = Array.from({ length: 20 }, () => runInScope('flood', hold));
    assert.equal(await runInScope('other', () => limit.run(async () => 'ran')), 'ran');
    assert.equal(limit.running, 2);
    release();
    await Promise.all(flood);
  });

  it('S5.3 an account has its share, from however many networks', async () => {
    const limit = new Limit({ ...wide, slots: 5, share: 4, accountShare: 1 });
    const { hold, release } = holding(limit);
    const asked = Array.from({ length: 5 }, (_, n) =>
      runInScope(`network ${n}`, (scope) => {
        scope.identify(7);
        return hold();
      }),
    );
    await sleep(5);
    assert.equal(limit.running, 1);
    release();
    await Promise.all(asked);
  });

  it('who has least is next, however many of others came before', async () => {
    const limit = new Limit({ ...wide, share: 2 });
    const order: string[] = [];
    const ask = (network: string) =>
      runInScope(network, () =>
        limit.run(async () => {
          order.push(network);
          await sleep(5);
        }),
      );
    await Promise.all([...Array.from({ length: 20 }, () => ask('many')), ask('other'), ask('third')]);
    assert.ok(order.indexOf('other') <= 3 && order.indexOf('third') <= 4, order.join());
  });

  it('S5.3 refuses what waits too long, and what comes when too many wait; of one network half of them may', async () => {
    const limit = new Limit({ slots: 1, queue: 4, waitMs: 30 });
    const { hold, release } = holding(limit);
    const held = hold();
    const waiting = [1, 2].map(() => assert.rejects(runInScope('a', hold), refusedFor('waited_too_long')));
    await assert.rejects(runInScope('a', hold), refusedFor('queue_full'));
    waiting.push(...[1, 2].map(() => assert.rejects(runInScope('b', hold), refusedFor('waited_too_long'))));
    await assert.rejects(runInScope('c', hold), refusedFor('queue_full'));
    await Promise.all(waiting);
    assert.deepEqual(limit.refused, { queue_full: 2, waited_too_long: 4, no_answer: 0, gone: 0 });
    release();
    await held;
    assert.equal(await limit.run(async () => 'ran'), 'ran');
  });

  it('gives no place to who has gone, and gives places back when work fails', async () => {
    const limit = new Limit({ ...wide, slots: 1 });
    const { hold, release } = holding(limit);
    const held = hold();
    const gone = runInScope('gone', (scope) => {
      setTimeout(() => {
        scope.isGone = () => true;
      });
      return limit.run(async () => assert.fail('it has gone'));
    });
    const failing = limit.run(async () => {
      throw new Error('broken');
    });
    await sleep(5);
    release();
    await held;
    await assert.rejects(gone, refusedFor('gone'));
    await assert.rejects(failing, /broken/);
    assert.equal(limit.running, 0);
  });
});

describe('looks that are shared', () => {
  it('one runs and one waits to, which is every later caller’s; none is told what was true before it asked', async () => {
    let value = 0;
    let looks = 0;
    const ask = coalesce(async () => {
      looks++;
      const seen = value;
      await sleep(10);
      return seen;
    });
    const first = ask();
    value = 1;
    const others = Array.from({ length: 50 }, ask);
    assert.equal(await first, 0);
    assert.deepEqual(new Set(await Promise.all(others)), new Set([1]));
    assert.equal(looks, 2);
    assert.equal(await ask(), 1);
    assert.equal(looks, 3);
  });

  it('one that fails is the failure of who shared it, and of nobody after', async () => {
    let fails = true;
    const ask = coalesce(async () => {
      await sleep(2);
      if (fails) throw new Error('away');
      return 'there';
    });
    const asked = [ask(), ask(), ask()];
    await assert.rejects(asked[0] as Promise<string>, /away/);
    fails = false;
    assert.deepEqual(await Promise.all(asked.slice(1)), ['there', 'there']);
  });

  it('is nobody’s request: the first one’s leaving ends it for none', async () => {
    const ask = coalesce(async () => currentScope());
    assert.equal(await runInScope('network', ask), undefined);
  });
});

describe('the scope of a request', () => {
  it('is found behind every wait, and not outside of it', async () => {
    const network = await runInScope('net', async () => {
      await sleep(1);
      assert.equal(runOutsideScope(currentScope), undefined);
      return currentScope()?.network;
    });
    assert.equal(network, 'net');
    assert.equal(currentScope(), undefined);
  });

  it('counts for its network, and for its account once that is known', async () => {
    await runInScope('net', async (scope) => {
      const before = scope.owners;
      scope.identify(7);
      assert.deepEqual([before, scope.owners], [['network net'], ['network net', 'account 7']]);
    });
  });

  it('ends with an error that was thrown where nobody waited for it', async () => {
    const forever = runInScope('net', async (scope) => {
      setTimeout(() => scope.fail(new Error('defect')));
      return new Promise(() => {});
    });
    await assert.rejects(forever, /defect/);
  });
});

const circle = (corners: number, turn = 1): number[][] => {
  const at = (n: number): number[] => [
    4e5 + 1e5 * Math.cos((2 * Math.PI * n * turn) / corners),
    55e5 + 1e5 * Math.sin((2 * Math.PI * n * turn) / corners),
  ];
  return [...Array.from({ length: corners }, (_, n) => at(n)), at(0)];
};
const bowTie = [
  [0, 0],
  [1, 1],
  [1, 0],
  [0, 1],
  [0, 0],
];

describe('a boundary that is not valid', () => {
  const cases: [name: string, coordinates: unknown, repairable: boolean][] = [
    ['a ring of a hundred thousand corners', [circle(100_000)], true],
    ['a bow-tie', [bowTie], true],
    ['a hundred bow-ties', Array.from({ length: 100 }, (_, n) => [bowTie.map(([x = 0, y = 0]) => [x + 2 * n, y])]), true],
    ['three hundred bow-ties', Array.from({ length: 300 }, (_, n) => [bowTie.map(([x = 0, y = 0]) => [x + 2 * n, y])]), false],
    ['two parts that share an edge', [[circle(4)], [circle(4)]], true],
    ['a star of 401 corners', [circle(401, 200)], false],
    ['two million corners', [circle(2_000_000)], false],
    ['lines that all lie over each other', [Array.from({ length: 20_000 }, (_, n) => [n % 2, n])], false],
    ['no coordinates', 'x', true],
    ['lists without end', JSON.parse('['.repeat(1000) + ']'.repeat(1000)), true],
    ['positions that are none', [[[0, 'x'], [null, 1], [1]]], true],
  ];
  for (const [name, coordinates, repairable] of cases) {
    it(`${repairable ? 'is' : 'is not'} repaired when it is ${name}`, () => {
      assert.equal(countCrossings(coordinates) <= maxCrossings, repairable);
    });
  }

  it('is refused by the database when it may not be repaired, and taken when it is valid', async () => {
    const { sql } = await openTestDatabase();
    const check = (coordinates: number[][], repairable: boolean) => {
      const geojson = JSON.stringify({ type: 'Polygon', coordinates: [coordinates] });
      return sql`select private.to_boundary(${geojson}::text, 25832, ${repairable}::boolean) is not null as taken`;
    };
    const crossed = bowTie.map(([x = 0, y = 0]) => [4e5 + 1e4 * x, 55e5 + 1e4 * y]);
    await assert.rejects(check(crossed, false), { code: 'GRENZ' });
    assert.equal((await check(crossed, true))[0]?.taken, true);
    assert.equal((await check(circle(8), false))[0]?.taken, true);
  });
});
