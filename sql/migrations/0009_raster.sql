CREATE TABLE "portal"."art_platz" (
	"art" integer PRIMARY KEY NOT NULL,
	"platz" integer NOT NULL,
	CONSTRAINT "art_platz_platz_unique" UNIQUE("platz")
);
--> statement-breakpoint
CREATE TABLE "portal"."raster_feld" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."raster_feld_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"gitter" text NOT NULL,
	"x" integer NOT NULL,
	"y" integer NOT NULL,
	"code" text NOT NULL,
	"cell" geometry(Polygon,25832) NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."raster_offen" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."raster_offen_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"cell_x" integer NOT NULL,
	"cell_y" integer NOT NULL,
	"eea10" integer,
	"tk" integer
);
--> statement-breakpoint
CREATE TABLE "portal"."raster_zahl" (
	"gitter" text NOT NULL,
	"x" integer NOT NULL,
	"y" integer NOT NULL,
	"meldungen" bigint NOT NULL,
	"arten" integer NOT NULL,
	"verschleiert" bigint NOT NULL,
	"erstes_jahr" integer NOT NULL,
	"letztes_jahr" integer NOT NULL,
	"artenmenge" bit varying,
	CONSTRAINT "raster_zahl_gitter_x_y_pk" PRIMARY KEY("gitter","x","y")
);
--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung_gezeigt" ADD COLUMN "eea10" integer;--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung_gezeigt" ADD COLUMN "tk" integer;--> statement-breakpoint
ALTER TABLE "portal"."installation" ADD COLUMN "has_raster_lage" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "portal"."art_platz" ADD CONSTRAINT "art_platz_art_art_id_fk" FOREIGN KEY ("art") REFERENCES "portal"."art"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "raster_feld_xy" ON "portal"."raster_feld" USING btree ("gitter","x","y");--> statement-breakpoint
CREATE INDEX "raster_feld_cell" ON "portal"."raster_feld" USING gist ("cell");
