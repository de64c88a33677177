-- Review (O6): counts by species, rules of experts, why a waiting record is odd.
CREATE TYPE "portal"."merkmal" AS ENUM('zelle', 'drittel', 'anzahl', 'stadium', 'aktivitaet');--> statement-breakpoint
CREATE TABLE "portal"."sperre_pruefung" (
	"id" boolean PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."pruef_zahl" (
	"art" integer NOT NULL,
	"merkmal" "portal"."merkmal" NOT NULL,
	"x" integer NOT NULL,
	"y" integer NOT NULL,
	"meldungen" integer NOT NULL,
	"offene" integer NOT NULL,
	CONSTRAINT "pruef_zahl_pk" PRIMARY KEY("art","merkmal","x","y")
);
--> statement-breakpoint
CREATE TABLE "portal"."pruef_zahl_offen" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."pruef_zahl_offen_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"art" integer NOT NULL,
	"cell_x" integer NOT NULL,
	"cell_y" integer NOT NULL,
	"datum" date NOT NULL,
	"anzahl" integer NOT NULL,
	"stadium_id" integer,
	"aktivitaet_id" integer,
	"offen" boolean NOT NULL,
	"vorzeichen" smallint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."pruefgrund" (
	"sichtbeobachtung_id" bigint PRIMARY KEY NOT NULL,
	"gruende" jsonb NOT NULL,
	"codes" text[] NOT NULL,
	"auffaelligkeit" integer NOT NULL,
	"berechnet" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."pruefgrund_offen" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."pruefgrund_offen_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"sichtbeobachtung_id" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."pruefregel" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."pruefregel_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"mandant_id" integer,
	"art" integer NOT NULL,
	"von" text,
	"bis" text,
	"anzahl_max" integer,
	"gebiet" geometry(Geometry,4326),
	"zwei_personen" boolean DEFAULT false NOT NULL,
	"automatisch" boolean DEFAULT false NOT NULL,
	CONSTRAINT "pruefregel_art_mandant" UNIQUE NULLS NOT DISTINCT("art","mandant_id"),
	CONSTRAINT "pruefregel_zeit" CHECK (("portal"."pruefregel"."von" is null) = ("portal"."pruefregel"."bis" is null) and "portal"."pruefregel"."von" ~ '^(0[1-9]|1[0-2])-[1-3]$' and "portal"."pruefregel"."bis" ~ '^(0[1-9]|1[0-2])-[1-3]$'),
	CONSTRAINT "pruefregel_anzahl" CHECK ("portal"."pruefregel"."anzahl_max" between 1 and 20000),
	CONSTRAINT "pruefregel_gebiet" CHECK (public.geometrytype("portal"."pruefregel"."gebiet") in ('POLYGON', 'MULTIPOLYGON') and public.st_npoints("portal"."pruefregel"."gebiet") <= 10000 and public.st_isvalid("portal"."pruefregel"."gebiet"))
);
--> statement-breakpoint
ALTER TABLE "portal"."installation" ADD COLUMN "has_pruef_zahl" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "portal"."pruefgrund" ADD CONSTRAINT "pruefgrund_sichtbeobachtung_id_sichtbeobachtung_id_fk" FOREIGN KEY ("sichtbeobachtung_id") REFERENCES "portal"."sichtbeobachtung"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."pruefregel" ADD CONSTRAINT "pruefregel_mandant_id_mandant_id_fk" FOREIGN KEY ("mandant_id") REFERENCES "portal"."mandant"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."pruefregel" ADD CONSTRAINT "pruefregel_art_art_id_fk" FOREIGN KEY ("art") REFERENCES "portal"."art"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "pruef_zahl_offen_fort" ON "portal"."pruef_zahl_offen" USING btree ("art") WHERE "portal"."pruef_zahl_offen"."offen" and "portal"."pruef_zahl_offen"."vorzeichen" < 0;--> statement-breakpoint
CREATE INDEX "pruefgrund_auffaelligkeit" ON "portal"."pruefgrund" USING btree ("auffaelligkeit" DESC NULLS FIRST,"sichtbeobachtung_id");--> statement-breakpoint
CREATE INDEX "pruefregel_mandant" ON "portal"."pruefregel" USING btree ("mandant_id");