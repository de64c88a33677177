// GET and POST /login

import type { Context } from 'hono';
import { Hono } from 'hono';
import * as v from 'valibot';
import { createToken, getLogin } from '../db/nutzer.ts';
import { isSha1, verifyPassword } from '../guard/password.ts';
import { makeToken } from '../guard/token.ts';
import type { Deps, Env } from './context.ts';
import { readForm } from './form.ts';
import { checkInput } from './input.ts';
import { forgiveLogin, requireLoginAllowed } from './limits.ts';
import type { Parameters } from './query.ts';
import { queryParameters, readFormat, replyEmpty, replyValue } from './reply.ts';

export const loginFields = { loginname: v.string('der Anmeldename'), password: v.string('der SHA-1 des Passworts') };

export function loginRoutes(deps: Deps): Hono<Env> {
  const { sql } = deps;
  const answer = async (c: Context<Env>, parameters: Parameters) => {
    readFormat(c);
    const { loginname, password } = checkInput(c, parameters, loginFields);
    await requireLoginAllowed(c, deps, loginname);
    const account = await getLogin(sql, loginname);
    // Checked in any case, so that the time says nothing (D2.9).
    const right = await verifyPassword(isSha1(password) ? password : '', account?.passwordHash ?? null);
    c.header('Cache-Control', 'private, no-store');
    if (!account || !right || account.status !== 1) return replyEmpty(c);
    await forgiveLogin(c, deps, loginname);
    const { token, hash } = makeToken();
    await createToken(sql, account.id, hash);
    return replyValue(c, 'result', { name: account.name, id: account.id, token, loginname: account.loginname });
  };
  return new Hono<Env>()
    .get('/login', (c) => answer(c, queryParameters(c)))
    .post('/login', async (c) => answer(c, (await readForm(c)).fields));
}
