// What pages for people load: modules and style sheets as they lie in their folders, and OpenLayers from its package.
import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Hono } from 'hono';
import type { Config } from '../../config.ts';
import type { Env } from '../context.ts';
import { sendForGood } from '../wire/reply.ts';

const types = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' } as const;
const packaged = { 'ol.js': 'ol/dist/ol.js', 'ol.css': 'ol/ol.css' };

const require = createRequire(import.meta.url);
const own = new Map(
  ['karte/', 'pruefung/seite/'].flatMap((folder) =>
    readdirSync(new URL(folder, import.meta.url))
      .filter((name) => /\.(js|css)$/.test(name))
      .sort()
      .map((name) => [folder + name, readFileSync(new URL(folder + name, import.meta.url))] as const),
  ),
);
const { version } = require('ol/package.json') as { version: string };
// Part of each address, so that browsers may keep the files for good: the modules name each other without it.
const mark = hash('sha256', Buffer.concat([Buffer.from(version), ...own.values()]), 'base64url').slice(0, 12);

/** Where the files are, by their path in this folder. */
export const filesBase = `/karte/${mark}`;

export function pageFileRoutes(): Hono<Env> {
  const routes = new Hono<Env>();
  const packed = Object.entries(packaged).map(([name, path]) => [name, readFileSync(require.resolve(path))] as const);
  for (const [name, bytes] of [...own, ...packed])
    routes.get(`${filesBase}/${name}`, (c) => sendForGood(c, bytes, types[name.endsWith('.js') ? 'js' : 'css']));
  return routes;
}

/** No other host, but that of the background. OpenLayers draws icons of its controls from its own style sheet. */
export function makePolicy(hintergrund: Config['karteHintergrund']): string {
  const other = hintergrund ? ` ${new URL(hintergrund.url).origin}` : '';
  const sources = `script-src 'self'; style-src 'self'; img-src 'self' data:${other}; connect-src 'self'${other}`;
  return `default-src 'none'; ${sources}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
}
