// The landing page, the conformance classes and the collections as people look at them.
import type { Context } from 'hono';
import { html } from 'hono/html';
import type { Env } from '../../context.ts';
import { type Collection, collections } from './collections.ts';
import { crsNames } from './crs.ts';
import { conformance, description, type Extents, linksOfLanding, title } from './describe.ts';
import { pageFormats } from './items.ts';
import type { Addresses } from './links.ts';
import { drawMap } from './map.ts';
import { html as htmlFormat, json } from './negotiate.ts';
import { makePage } from './ogc-page.ts';

const home = ({ root }: Addresses) => ({ href: `${root}?f=html`, title: 'Daten' });
const own = (addresses: Addresses) => addresses.own(htmlFormat, [json, htmlFormat]);

export function makeLandingPage(c: Context<Env>, addresses: Addresses) {
  return makePage(c, {
    title,
    path: [],
    links: own(addresses),
    body: html`<p>${description}</p>
<ul>${linksOfLanding(addresses, htmlFormat)
      .filter(({ rel }) => !['self', 'alternate'].includes(rel))
      .map(({ href, title: what, type }) => html`<li><a href="${href}">${what}</a> <small>${type}</small></li>`)}</ul>
<p>QGIS und GDAL öffnen diese Adresse als „WFS / OGC API – Features“: <code>${addresses.root}</code></p>`,
  });
}

export function makeConformancePage(c: Context<Env>, addresses: Addresses) {
  return makePage(c, {
    title: 'Konformität',
    path: [home(addresses)],
    links: own(addresses),
    body: html`<ul>${conformance.map((each) => html`<li>${each}</li>`)}</ul>`,
  });
}

export function makeCollectionsPage(c: Context<Env>, addresses: Addresses) {
  return makePage(c, {
    title: 'Sammlungen',
    path: [home(addresses)],
    links: own(addresses),
    body: html`${collections.map(
      ({ id, title: name, description: what }) =>
        html`<h2><a href="${addresses.root}/collections/${id}?f=html">${name}</a></h2><p>${what}</p>`,
    )}`,
  });
}

export async function makeCollectionPage(c: Context<Env>, addresses: Addresses, collection: Collection, extents: Extents) {
  const { id, title: name, description: what, properties, filters, margin } = collection;
  const items = addresses.below(`/collections/${id}/items`, 'items', 'Objekte', pageFormats);
  const [west = 0, south = 0, east = 0, north = 0] = extents.get(margin) ?? [];
  const corners = [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ];
  return makePage(c, {
    title: name,
    path: [home(addresses), { href: `${addresses.root}/collections?f=html`, title: 'Sammlungen' }],
    links: own(addresses),
    body: html`<p>${what}</p>
<p class="weiter">${items.map(({ title: kind }, index) => html`<a href="${addresses.root}/collections/${id}/items?f=${pageFormats[index]?.name}">${kind}</a> `)}</p>
${extents.get(margin) ? drawMap([{ id, geometry: { type: 'Polygon', coordinates: [corners] }, properties: {} }]) : ''}
<h2>Felder</h2>
<dl>${Object.entries(properties).map(([field, { description: meaning }]) => html`<dt>${field}</dt><dd>${meaning}</dd>`)}</dl>
<h2>Filter</h2>
<p>bbox, bbox-crs, crs, datetime, limit${Object.keys(filters).map((filter) => `, ${filter}`)}</p>
<h2>Koordinatensysteme</h2>
<ul>${crsNames.map((crs) => html`<li>${crs}</li>`)}</ul>`,
  });
}
