// What stands beside the interface (docs/decisions.md, O0.5, O1): mirrors, maps, GIS programs.
import { Hono } from 'hono';
import type { Deps, Env } from '../context.ts';
import { abgleichRoutes } from './abgleich.ts';
import { ogcRoutes } from './ogc/routes.ts';

/** Where outputs are: errors there are problem details. */
export const isOutput = (path: string) => /^\/(?:abgleich|ogc)(?:\/|$)/.test(path);

export function outputRoutes(deps: Deps): Hono<Env> {
  return new Hono<Env>().route('/', abgleichRoutes(deps)).route('/', ogcRoutes(deps));
}
