// The interface's documentation: GET /openapi.json, and the page that shows it. Everything the page loads comes from here.
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { type Deps, type Env, requestHost } from '../context.ts';
import { makeOpenapi } from '../openapi/document.ts';
import type { Operation } from '../openapi/operation.ts';
import { sendHashed } from '../wire/etag.ts';
import { pageType, sendForGood } from '../wire/reply.ts';

const base = '/api/v2';
// No address of a server.
const addressMark = 'server address';

// A list instead of the package's folder: it also holds pages and scripts that load an interface from any address.
const assets = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
} as const;

// By itself, Swagger UI fills every field of a form with an invented value and sends the empty ones too: trying out a PUT
// would release a sighting, or clear what it holds. Here a field shows its default or nothing, and nothing is not sent.
const initializer = `const carefulForms = {
  afterLoad(system) {
    const sample = this.fn.getSampleSchema;
    this.fn.getSampleSchema = (schema, type, ...rest) => {
      if (type !== false) return sample(schema, type, ...rest);
      const { default: standard = '' } = schema?.toJS?.() ?? schema ?? {};
      return standard;
    };
  },
  // What may be asked with or without a login is not locked for who has none.
  statePlugins: {
    auth: {
      wrapSelectors: {
        isAuthorized: (original) => (_state, securities) => original(securities.filter((needed) => needed.size > 0)),
      },
    },
  },
  wrapComponents: {
    ParameterIncludeEmpty: (Original, { React }) => (props) =>
      React.createElement(Original, { ...props, isIncludedOptions: { ...props.isIncludedOptions, defaultValue: false } }),
  },
};
addEventListener('load', () => {
  window.ui = SwaggerUIBundle({
    url: '${base}/openapi.json',
    dom_id: '#swagger-ui',
    deepLinking: true,
    validatorUrl: null,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    plugins: [carefulForms],
  });
});
`;
const style = `body { margin: 0 }
.kopf { font: 1rem/1.5 system-ui, sans-serif; max-width: 1460px; margin: 0 auto; padding: 1rem 20px 0; box-sizing: border-box }
.kopf a { color: #1b5e20 }
.swagger-ui .info { margin: 1.5rem 0 }
@media (max-width: 640px) {
  .swagger-ui .info .title { font-size: 1.5rem; overflow-wrap: anywhere }
  .swagger-ui table.parameters, .swagger-ui table.parameters > tbody, .swagger-ui table.parameters > tbody > tr,
  .swagger-ui table.parameters > tbody > tr > td { display: block; width: auto; max-width: 100%; min-width: 0; box-sizing: border-box }
  .swagger-ui table.parameters > thead { display: none }
  .swagger-ui table.parameters > tbody > tr > td.parameters-col_description { padding-top: 0 }
  .swagger-ui table.responses-table { table-layout: fixed }
  .swagger-ui .response-col_status { width: 3.5rem; min-width: 0 }
  .swagger-ui .response-col_links { display: none }
  .swagger-ui select, .swagger-ui input, .swagger-ui textarea { max-width: 100% !important; min-width: 0 !important }
  .swagger-ui code { overflow-wrap: anywhere }
}
`;

// Swagger UI draws its arrows from data: addresses; styles it sets by script, which needs no permission.
const policy =
  "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const require = createRequire(import.meta.url);
const { version } = require('swagger-ui-dist/package.json') as { version: string };
// Part of each address, so that browsers may keep the files for good.
const mark = hash('sha256', `${version}${initializer}${style}`, 'base64url').slice(0, 12);

const icon = readFileSync(require.resolve('swagger-ui-dist/favicon-32x32.png'));

/** What browsers ask for at every address, with or without a tenant behind it. */
export function sendIcon(c: Context<Env>): Response {
  c.header('Cache-Control', 'public, max-age=86400');
  return sendHashed(c, icon, 'image/png');
}

/** @param operations what the document tells of */
export function docsRoutes(deps: Deps, operations: readonly Operation[]): Hono<Env> {
  const page = (c: Context<Env>) => {
    c.header('Cache-Control', 'no-cache');
    c.header('Content-Security-Policy', policy);
    const { name } = c.get('tenant');
    const body = html`<!doctype html>
<html lang="de">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Schnittstelle – ${name}</title>
<link rel="icon" type="image/png" href="${base}/docs/favicon-32x32.png?${mark}">
<link rel="stylesheet" href="${base}/docs/swagger-ui.css?${mark}">
<link rel="stylesheet" href="${base}/docs/page.css?${mark}">
<script src="${base}/docs/swagger-ui-bundle.js?${mark}" defer></script>
<script src="${base}/docs/initializer.js?${mark}" defer></script>
</head>
<body>
<header class="kopf"><strong>${name}</strong> · Dokumentation der Schnittstelle · <a href="${base}/openapi.json">OpenAPI-Dokument</a></header>
<noscript><p class="kopf">Diese Seite braucht JavaScript. Ohne JavaScript hilft das OpenAPI-Dokument.</p></noscript>
<div id="swagger-ui"></div>
</body>
</html>`;
    return sendHashed(c, String(body), pageType);
  };
  // It takes 5 ms to make, and clients choose the address in the Host header: made once, around the place of the address.
  const [head = '', tail = ''] = JSON.stringify(makeOpenapi(operations, addressMark)).split(JSON.stringify(addressMark));
  const routes = new Hono<Env>()
    .get('/', page)
    .get('/openapi.json', (c) => {
      c.header('Cache-Control', 'no-cache');
      return sendHashed(c, `${head}${JSON.stringify(serverAddress(c, deps))}${tail}`, 'application/json; charset=utf-8');
    })
    .get('/docs/initializer.js', (c) => sendForGood(c, initializer, assets['swagger-ui-bundle.js']))
    .get('/docs/page.css', (c) => sendForGood(c, style, assets['swagger-ui.css']));
  for (const [name, type] of Object.entries(assets)) {
    const bytes = readFileSync(require.resolve(`swagger-ui-dist/${name}`));
    routes.get(`/docs/${name}`, (c) => sendForGood(c, bytes, type));
  }
  return routes;
}

// Under a foreign host (DEFAULT_TENANT) the tenant's own address is another origin, which the page may not call: there the
// document names an address relative to itself.
function serverAddress(c: Context<Env>, { config }: Deps): string {
  const asked = requestHost(c, config.trustedHops);
  const origin = c.get('origin');
  return new URL(origin).host === asked ? `${origin}${base}` : base;
}
