// The frame of the pages behind links in mails: works without JavaScript, loads nothing from anywhere else.
import { hash } from 'node:crypto';
import type { Context } from 'hono';
import { html, raw } from 'hono/html';
import type { Env } from '../context.ts';
import { sendPage } from './reply.ts';

const style = `
body { font: 1.05rem/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 32rem; margin: 3rem auto; padding: 0 1rem }
header { border-bottom: 1px solid #ccc; padding-bottom: .5rem; color: #1b5e20; font-weight: 600 }
h1 { font-size: 1.5rem; overflow-wrap: break-word }
a { color: #1b5e20 }
h2 { font-size: 1.2rem; margin-top: 2rem }
label { display: block; margin-top: 1rem; font-weight: 600 }
input { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem; border: 1px solid #555; border-radius: .25rem }
button { font: inherit; margin-top: 1.5rem; padding: .6rem 1.2rem; border: 0; border-radius: .25rem; color: #fff; background: #1b5e20 }
select, textarea { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem }
img, audio { max-width: 100% }
blockquote { margin: 1rem 0; border-left: .3rem solid #ccc; padding-left: .8rem; white-space: pre-line; overflow-wrap: anywhere }
dt { font-weight: 600 }
dd { margin: 0 0 .5rem; overflow-wrap: anywhere }
input[type=radio] { width: auto }
fieldset { border: 0; margin: 1rem 0 0; padding: 0 }
fieldset label { font-weight: 400; margin-top: .5rem }
.loeschen { background: #8a1c1c }
input[readonly] { border-color: transparent; background: #f2f2f2 }
[role=alert] { border-left: .3rem solid #b00020; padding-left: .8rem }
`;
const styleHash = hash('sha256', style, 'base64');
const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; img-src 'self'; media-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;

/** A page, for nobody's cache. */
export function replyPage(c: Context<Env>, status: 200 | 400 | 404 | 409, title: string, content: unknown) {
  c.header('Cache-Control', 'private, no-store');
  const { name } = c.get('tenant');
  return sendPage(
    c,
    html`<!doctype html>
<html lang="de">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} – ${name}</title><style>${raw(style)}</style></head>
<body><header>${name}</header><main><h1>${title}</h1>${content}</main></body>
</html>`,
    policy,
    status,
  );
}
