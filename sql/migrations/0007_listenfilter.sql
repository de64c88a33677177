-- What a list of sightings is asked for, resolved to ids: what sql/code/65_sichtbeobachtung_list.sql hands from one function to the next.
-- A new kind of filter is one more attribute (ALTER TYPE … ADD ATTRIBUTE).
CREATE TYPE "portal"."listenfilter" AS (
	"tenant" integer,
	"reader" bigint,
	"exempt" boolean,
	"bereich" text,
	"status" "portal"."status",
	"arts" integer[],
	"gids" integer[],
	"jahr" integer,
	"datum_von" date,
	"datum_bis" date,
	"mandant" integer,
	"x1" double precision,
	"y1" double precision,
	"x2" double precision,
	"y2" double precision,
	"arts_here" integer[],
	"before_id" bigint,
	"row_limit" integer
);
--> statement-breakpoint
COMMENT ON TYPE "portal"."listenfilter" IS 'A list of sightings: tenant addressed; reader, null for anonymous; exempt, the reader is administrator or expert; bereich oeffentlich, privat or persoenlich; arts and gids, null for any, empty for none; mandant, the id of a tenant; x1, y1, x2, y2, left, bottom, right and top of a box in EPSG:25832 (metres), edges included; arts_here, the species that the addressed tenant protects; before_id, at most 2^53 - 1; row_limit';
