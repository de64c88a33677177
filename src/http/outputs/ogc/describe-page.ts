// The landing page, the conformance classes, the collections and the description of /ogc as people look at them.
import type { Context } from 'hono';
import { html } from 'hono/html';
import type { Env } from '../../context.ts';
import { type Collection, collections } from './collections.ts';
import { crsNames } from './crs.ts';
import { type About, conformance, description, linksOfLanding, linksOfLicences, title } from './describe.ts';
import type { Addresses } from './links.ts';
import { drawMap } from './map.ts';
import { apiFormats, itemsFormats } from './negotiate.ts';
import { home, makePage, toCollections } from './ogc-page.ts';
import { makeOpenapi } from './openapi.ts';

export function makeLandingPage(c: Context<Env>, addresses: Addresses) {
  const body = html`<p>${description}</p>
<ul>${linksOfLanding(addresses).map(
    ({ href, title: what, type }) => html`<li><a href="${href}">${what}</a> <small>${type}</small></li>`,
  )}</ul>
<p>QGIS und GDAL öffnen diese Adresse als „WFS / OGC API – Features“: <code>${addresses.root}</code></p>`;
  return makePage(c, addresses, { title, path: [], body });
}

export function makeConformancePage(c: Context<Env>, addresses: Addresses) {
  const body = html`<ul>${conformance.map((each) => html`<li>${each}</li>`)}</ul>`;
  return makePage(c, addresses, { title: 'Konformität', path: [home], body });
}

export function makeCollectionsPage(c: Context<Env>, addresses: Addresses) {
  const body = html`${collections.map(
    ({ id, title: name, description: what }) =>
      html`<h2><a href="${addresses.root}/collections/${id}?f=html">${name}</a></h2><p>${what}</p>`,
  )}`;
  return makePage(c, addresses, { title: 'Sammlungen', path: [home], body });
}

export async function makeCollectionPage(c: Context<Env>, addresses: Addresses, collection: Collection, about: About) {
  const { id, title: name, description: what, properties, filters, margin } = collection;
  const items = addresses.below(`/collections/${id}/items`, 'items', 'Objekte', itemsFormats);
  const [west = 0, south = 0, east = 0, north = 0] = about.extents.get(margin) ?? [];
  const corners = [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ];
  const body = html`<p>${what}</p>
<p class="weiter">${items.map(({ title: kind }, index) => html`<a href="${addresses.root}/collections/${id}/items?f=${itemsFormats[index]?.name}">${kind}</a> `)}</p>
${about.extents.get(margin) ? drawMap([{ id, geometry: { type: 'Polygon', coordinates: [corners] }, properties: {} }]) : ''}
${id === 'sichtbeobachtung' ? linksOfLicences(about).map(({ href, title: licence }) => html`<p>Lizenz der <a href="${addresses.origin}/export/v1/">Dateien</a>: <a rel="license" href="${href}">${licence}</a></p>`) : ''}
<h2>Felder</h2>
<dl>${Object.entries(properties).map(([field, { description: meaning }]) => html`<dt>${field}</dt><dd>${meaning}</dd>`)}</dl>
<h2>Filter</h2>
<p>bbox, bbox-crs, crs, datetime, limit${Object.keys(filters).map((filter) => `, ${filter}`)}</p>
<h2>Koordinatensysteme</h2>
<ul>${crsNames.map((crs) => html`<li>${crs}</li>`)}</ul>`;
  return makePage(c, addresses, { title: name, path: [home, toCollections], body });
}

/** From the same document as programs read. */
export function makeOpenapiPage(c: Context<Env>, addresses: Addresses) {
  interface Parameter {
    $ref?: string;
    name?: string;
    description?: string;
  }
  const { paths, components } = makeOpenapi(addresses.root) as {
    paths: Record<string, { get: { summary: string; parameters: Parameter[] } }>;
    components: { parameters: Record<string, Parameter> };
  };
  const resolve = ({ $ref, ...own }: Parameter): Parameter =>
    $ref === undefined ? own : (components.parameters[$ref.slice($ref.lastIndexOf('/') + 1)] ?? own);
  const body = html`<p>Alle Adressen werden mit GET gelesen, ohne Anmeldung. Das Dokument für Programme: <a href="${addresses.root}/api?f=json">OpenAPI 3.0</a>.</p>
${Object.entries(paths).map(
  ([path, { get }]) => html`<h2>${get.summary}</h2><p><code>${addresses.root}${path === '/' ? '' : path}</code></p>
<dl>${get.parameters.map(resolve).map(({ name, description }) => html`<dt>${name}</dt><dd>${description}</dd>`)}</dl>`,
)}`;
  return makePage(c, addresses, { title: 'Schnittstelle', path: [home], formats: apiFormats, body });
}
