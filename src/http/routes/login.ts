// GET and POST /login

import type { Context } from 'hono';
import { Hono } from 'hono';
import * as v from 'valibot';
import { createToken, getLogin } from '../../db/nutzer.ts';
import { isSha1, verifyPassword } from '../../guard/password.ts';
import { makeToken } from '../../guard/token.ts';
import type { Deps, Env } from '../context.ts';
import { networkOfRequest, requireLoginAllowed } from '../limits.ts';
import { readForm } from '../wire/form.ts';
import { checkInput } from '../wire/input.ts';
import type { Parameters } from '../wire/query.ts';
import { queryParameters, readFormat, replyEmpty, replyValue } from '../wire/reply.ts';

export const loginFields = { loginname: v.string('der Anmeldename'), password: v.string('der SHA-1 des Passworts') };

export function loginRoutes(deps: Deps): Hono<Env> {
  const { sql } = deps;
  const answer = async (c: Context<Env>, parameters: Parameters) => {
    readFormat(c);
    const { loginname: sent, password } = checkInput(c, parameters, loginFields);
    // No account has a name as long as that.
    const loginname = sent.slice(0, 500);
    await requireLoginAllowed(deps, loginname);
    const account = await getLogin(sql, loginname);
    // Checked in any case, so that the time says nothing (D2.9).
    const right = await verifyPassword(isSha1(password) ? password : '', account?.passwordHash ?? null);
    c.header('Cache-Control', 'private, no-store');
    if (!account?.passwordHash || !right || account.status !== 1) return replyEmpty(c);
    const { token, hash } = makeToken();
    // For the password that was verified only: it may have been changed meanwhile.
    if (!(await createToken(sql, account.id, hash, account.passwordHash, networkOfRequest()))) return replyEmpty(c);
    return replyValue(c, 'result', { name: account.name, id: account.id, token, loginname: account.loginname });
  };
  return new Hono<Env>()
    .get('/login', (c) => answer(c, queryParameters(c)))
    .post('/login', async (c) => answer(c, (await readForm(c, deps)).fields));
}
