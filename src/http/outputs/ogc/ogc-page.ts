// What all pages of /ogc have in common: plain, readable on a phone, nothing loaded from anywhere.
import { hash } from 'node:crypto';
import type { Context } from 'hono';
import { html, raw } from 'hono/html';
import type { Env } from '../../context.ts';
import { sendPage } from '../../wire/reply.ts';
import type { Addresses } from './links.ts';
import { html as htmlFormat, type OutputFormat, pageFormats } from './negotiate.ts';

const style = `body{font:1rem/1.5 system-ui,sans-serif;max-width:62rem;margin:0 auto;padding:0 1rem 3rem;color:#1d1d1d;background:#fff}
a{color:#1b5e20}
nav{padding:.75rem 0;border-bottom:1px solid #ccc}
h1{font-size:1.5rem;overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem}
dt{color:#555}dd{margin:0;overflow-wrap:anywhere}
.tabelle{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem}
th,td{text-align:left;vertical-align:top;padding:.25rem .6rem;border-bottom:1px solid #ddd}
.karte{display:block;width:100%;max-width:40rem;height:auto;background:#f4f6f2;border:1px solid #ccc;margin:1rem 0}
.karte circle{fill:#1b5e20}.karte path{fill:#1b5e2022;stroke:#1b5e20;stroke-width:1}
.weiter{font-size:1.1rem}
@media(max-width:40rem){dl{grid-template-columns:1fr}dt{margin-top:.5rem}}`;

const styleHash = hash('sha256', style, 'base64');
const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** A page that leads to others: its path below the root, its title. */
type Step = readonly [path: string, title: string];
export const home: Step = ['', 'Daten'];
export const toCollections: Step = ['/collections', 'Sammlungen'];

interface PageParts {
  title: string;
  /** What leads here, from the outside in. */
  path: readonly Step[];
  /** What there is of it. */
  formats?: readonly OutputFormat[];
  body: ReturnType<typeof html>;
}

export function makePage(c: Context<Env>, addresses: Addresses, { title, path, formats = pageFormats, body }: PageParts) {
  const others = addresses.own(htmlFormat, formats).filter(({ rel }) => rel === 'alternate');
  return sendPage(
    c,
    html`<!doctype html>
<html lang="de">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
${others.map(({ href, type }) => html`<link rel="alternate" type="${type}" href="${href}">`)}
<style>${raw(style)}</style>
</head>
<body>
<nav>${path.map(([step, name]) => html`<a href="${addresses.root}${step}?f=html">${name}</a> › `)}${title}</nav>
<main>
<h1>${title}</h1>
${body}
</main>
<footer><p>${others.map(({ href, title: format }) => html`<a href="${href}">${format}</a> `)}</p></footer>
</body>
</html>`,
    policy,
  );
}
