CREATE TABLE "portal"."stand_block" (
	"block" integer NOT NULL,
	"id" bigint NOT NULL,
	"anzahl" bigint NOT NULL,
	"gestartet" timestamp with time zone,
	CONSTRAINT "stand_block_block_id_pk" PRIMARY KEY("block","id")
);
--> statement-breakpoint
CREATE TABLE "portal"."raster_grob" (
	"stufe" integer NOT NULL,
	"x" integer NOT NULL,
	"y" integer NOT NULL,
	"meldungen" bigint,
	"arten" integer,
	"verschleiert" bigint,
	"artenmenge" bit varying,
	"cell" geometry(Polygon,3857),
	CONSTRAINT "raster_grob_stufe_x_y_pk" PRIMARY KEY("stufe","x","y")
);
--> statement-breakpoint
ALTER TABLE "portal"."raster_zahl" ADD COLUMN "feature" text;--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_erfahrung" ON "portal"."sichtbeobachtung" USING btree ("nutzer_id","gid") WHERE "portal"."sichtbeobachtung"."bereich" = 'oeffentlich' and "portal"."sichtbeobachtung"."status" = 'freigegeben';