// Accounts as their owners use them, several things at a time: what is answered belongs to what comes next.
import type { Dice } from '../support/dice.ts';
import { credentialsOf, encodeForm, escapeText } from './encode.ts';
import type { Draft, ShotMaker } from './plan.ts';
import type { Outcome, Shot } from './send.ts';
import { tenantHosts, type World } from './world.ts';

type Credentials = { loginname: string; token: string } | null;
type Form = Record<string, string>;

function makeShot(host: string, method: string, path: string, as: Credentials, form: Form | null = null): Shot {
  const headers = [['Host', host] as const, ...credentialsOf(as)];
  if (form === null) return { method, target: `/api/v2${path}`, headers };
  headers.push(['Content-Type', 'application/x-www-form-urlencoded']);
  return { method, target: `/api/v2${path}`, headers, body: encodeForm(form) };
}

/** The access key of a login that succeeded. */
function tokenOf(outcome: Outcome | undefined): string | null {
  const text = outcome && 'body' in outcome ? outcome.body.toString() : '';
  return /"token":"([^"]+)"/.exec(text)?.[1] ?? null;
}

/** @param findLinks addresses of pages on which a password is set, from the mails that were sent so far */
export function draftAccounts(dice: Dice, world: World, findLinks: () => string[]): Draft {
  const { administrator } = world.roles;
  // The first is blocked from the begin.
  const account = dice.pick(world.throwaways);
  const host = dice.pick(tenantHosts);
  const wrong = world.roles.expert.sha1;
  const login = (sha1 = account.sha1, loginname = account.loginname) =>
    dice.chance(0.5)
      ? makeShot(host, 'POST', '/login', null, { loginname, password: sha1 })
      : makeShot(host, 'GET', `/login?loginname=${escapeText(loginname)}&password=${sha1}`, null);
  const change = (form: Record<string, string>, as: Credentials = administrator) =>
    makeShot(host, 'PUT', `/nutzer/${account.id}`, as, form);
  const withToken =
    (make: (as: Credentials) => Shot): ShotMaker =>
    (before) => {
      const token = tokenOf(before[0]);
      return token === null ? null : make({ loginname: account.loginname, token });
    };
  const number = dice.below(1_000_000);
  const registration = {
    loginname: dice.pick([`Neu ${number}`, account.loginname, `neu${'\u0301'.repeat(dice.pick([1, 40]))} ${number}`]),
    email: dice.pick([
      `neu-${number}@example.org`,
      'chef@example.org',
      `"a b"@example.org`,
      `neu-${number}@${'x'.repeat(60)}.example`,
    ]),
    vorname: dice.pick(['Neu', '\r\nBcc: x@example.org', '<b>']),
    nachname: dice.pick(['Konto', '=?utf-8?q?x?=', '\u202e']),
    'portal-name': dice.pick(['', 'Ein Portal', 'x'.repeat(201)]),
    'portal-url': dice.pick(['', 'https://portal.example/', 'javascript:alert(1)', 'http://']),
  };
  const setPassword =
    (kennwort: string, again = kennwort): ShotMaker =>
    () => {
      const link = findLinks().at(-1);
      return link
        ? makeShot('localhost', 'POST', link, null, { loginname: 'egal', passwort: kennwort, wiederholung: again })
        : null;
    };

  const { loginname } = account;
  const otherwise = dice.pick([loginname.toUpperCase(), ` ${loginname}`, `${loginname}\u200b`, loginname.replace('w', 'ｗ')]);
  const mailbox = dice.pick(['niemand@example.org', 'wegwerf-3@example.org']);
  const lost: Form = dice.chance(0.5) ? { loginname } : { email: mailbox };
  const ways: [note: string, shots: ShotMaker[], atOnce?: boolean][] = [
    [
      'login, read, logout, read',
      [
        login(),
        withToken((as) => makeShot(host, 'GET', `/nutzer/${account.id}`, as)),
        withToken((as) => makeShot(host, 'POST', '/logout', as)),
        withToken((as) => makeShot(host, 'GET', '/nutzer', as)),
      ],
    ],
    [
      'login, change of the own address',
      [
        login(),
        withToken((as) => change({ email: `neu-${number}@example.org` }, as)),
        withToken((as) => change({ email: '' }, as)),
      ],
    ],
    [
      'login while the password is set',
      [login(), change({ passwort: account.sha1 }), login(), change({ passwort: account.sha1 })],
      true,
    ],
    ['login while being blocked', [login(), change({ status: '0' }), login(), change({ status: '1' })], true],
    [
      'changes at once',
      [{ rollen: 'expert' }, { rollen: '' }, { vorname: 'A' }, { artengruppenbeschraenkung: '1,2' }].map((form) => change(form)),
      true,
    ],
    [
      'the last administrator',
      [makeShot(host, 'PUT', `/nutzer/${administrator.id}`, dice.pick(world.spareTokens), { status: '0' })],
    ],
    [
      'logout twice at once',
      ((as) => [
        makeShot(host, 'POST', '/logout', as),
        makeShot(host, 'POST', '/logout', as),
        makeShot(host, 'GET', '/nutzer', as),
      ])(dice.pick(world.spareTokens)),
      true,
    ],
    ['logins at once', [login(), login(), login()], true],
    ['wrong password', [login(wrong)]],
    ['unknown name', [login(wrong, `niemand ${number}`)]],
    ['name in other letters', [login(account.sha1, otherwise)]],
    ['registration', [makeShot(host, 'POST', '/register', null, registration)]],
    [
      'the same registration at once',
      [makeShot(host, 'POST', '/register', null, registration), makeShot(host, 'POST', '/register', null, registration)],
      true,
    ],
    ['lost password', [makeShot(host, 'POST', '/passwort', null, lost)]],
    [
      'a link',
      [
        () => makeShot('localhost', 'GET', findLinks().at(-1) ?? '/konto/x', null),
        setPassword('kurz'),
        setPassword('lang genug 1', 'anders als das 1'),
        setPassword(`lang genug ${number}`),
      ],
    ],
    ['a link at once', [setPassword(`lang genug ${number}`), setPassword(`lang genug ${number}`)], true],
  ];
  const [note, shots, atOnce = false] = dice.pick(ways);
  return { kind: 'accounts', note: `${note} (${account.loginname})`, shots, atOnce };
}
