-- Review: experts may be restricted to tenants (D4.8).
CREATE TABLE "portal"."nutzer_mandant" (
	"nutzer_id" bigint NOT NULL,
	"mandant_id" integer NOT NULL,
	CONSTRAINT "nutzer_mandant_nutzer_id_mandant_id_pk" PRIMARY KEY("nutzer_id","mandant_id")
);
--> statement-breakpoint
ALTER TABLE "portal"."installation" ADD COLUMN "orte_nach_gruppe" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "portal"."nutzer_mandant" ADD CONSTRAINT "nutzer_mandant_nutzer_id_nutzer_id_fk" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."nutzer_mandant" ADD CONSTRAINT "nutzer_mandant_mandant_id_mandant_id_fk" FOREIGN KEY ("mandant_id") REFERENCES "portal"."mandant"("id") ON DELETE restrict ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "nutzer_mandant_mandant" ON "portal"."nutzer_mandant" USING btree ("mandant_id");--> statement-breakpoint
CREATE TYPE "portal"."zustaendigkeit" AS (
	"gilt" boolean,
	"mandanten" integer[],
	"gids" integer[]
);
--> statement-breakpoint
COMMENT ON TYPE "portal"."zustaendigkeit" IS 'Records an account is in charge of: gilt, it is expert or administrator; mandanten and gids, of these tenants and groups, null for all';
--> statement-breakpoint
ALTER TYPE "portal"."listenfilter" ADD ATTRIBUTE "zustaendig" "portal"."zustaendigkeit";
--> statement-breakpoint
COMMENT ON TYPE "portal"."listenfilter" IS 'A list of sightings: tenant addressed; reader, null for anonymous; zustaendig, records whose true place the reader may see, exempt, these are all; bereich oeffentlich, privat or persoenlich; arts and gids, null for any, empty for none; mandant, the id of a tenant; x1, y1, x2, y2, left, bottom, right and top of a box in EPSG:25832 (metres), edges included; arts_here, the species that the addressed tenant protects; before_id, at most 2^53 - 1; row_limit';
