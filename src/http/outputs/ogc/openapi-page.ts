// The description of /ogc as people read it, from the same document.
import type { Context } from 'hono';
import { html } from 'hono/html';
import type { Env } from '../../context.ts';
import type { Addresses } from './links.ts';
import { html as htmlFormat, openapi } from './negotiate.ts';
import { makePage } from './ogc-page.ts';
import { makeOpenapi } from './openapi.ts';

interface Parameter {
  $ref?: string;
  name?: string;
  description?: string;
}

interface Operation {
  summary: string;
  parameters: Parameter[];
}

export function makeOpenapiPage(c: Context<Env>, addresses: Addresses) {
  const { paths, components } = makeOpenapi(addresses.root) as {
    paths: Record<string, { get: Operation }>;
    components: { parameters: Record<string, Parameter> };
  };
  const resolve = ({ $ref, ...own }: Parameter): Parameter =>
    $ref === undefined ? own : (components.parameters[$ref.slice($ref.lastIndexOf('/') + 1)] ?? own);
  return makePage(c, {
    title: 'Schnittstelle',
    path: [{ href: `${addresses.root}?f=html`, title: 'Daten' }],
    links: addresses.own(htmlFormat, [openapi, htmlFormat]),
    body: html`<p>Alle Adressen werden mit GET gelesen, ohne Anmeldung. Das Dokument für Programme: <a href="${addresses.root}/api?f=json">OpenAPI 3.0</a>.</p>
${Object.entries(paths).map(
  ([path, { get }]) => html`<h2>${get.summary}</h2><p><code>${addresses.root}${path === '/' ? '' : path}</code></p>
<dl>${get.parameters.map(resolve).map(({ name, description }) => html`<dt>${name}</dt><dd>${description}</dd>`)}</dl>`,
)}`,
  });
}
