// Gives the accounts that traffic changes, blocks and logs out their passwords and access keys again.
import { readAnswers } from './answer.ts';
import { credentialsOf, encodeRequest, escapeText } from './encode.ts';
import { fire } from './wire.ts';
import type { World } from './world.ts';

// Another client than the traffic, whose logins may be used up.
const address = '127.0.0.4';

/** Requests that are made afterwards carry the new keys; everything else about them stays. */
export async function renewThrowaways({ throwaways, roles }: World, port: number, signal: AbortSignal): Promise<void> {
  const send = async (method: string, path: string, as: Parameters<typeof credentialsOf>[0], fields: Record<string, string>) => {
    const body = Buffer.from(
      Object.entries(fields)
        .map(([name, value]) => `${name}=${escapeText(value)}`)
        .join('&'),
    );
    const bytes = encodeRequest({
      method,
      target: `/api/v2${path}`,
      headers: [
        ['Host', 'localhost'],
        ['Connection', 'close'],
        ...credentialsOf(as),
        ['Content-Type', 'application/x-www-form-urlencoded'],
      ],
      body,
    });
    const { received } = await fire(port, { bytes, methods: [method] }, signal, address);
    return readAnswers(received, [method], true).answers[0]?.body.toString() ?? '';
  };
  // The first stays blocked.
  for (const account of throwaways.slice(1)) {
    await send('PUT', `/nutzer/${account.id}`, roles.administrator, { passwort: account.sha1, status: '1', rollen: '' });
    const answer = await send('POST', '/login', null, { loginname: account.loginname, password: account.sha1 });
    account.token = /"token":"([^"]+)"/.exec(answer)?.[1] ?? account.token;
  }
}
