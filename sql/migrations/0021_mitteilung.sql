CREATE TABLE "portal"."mitteilung" (
	"nutzer_id" bigint PRIMARY KEY NOT NULL,
	"haeufigkeit" text DEFAULT 'woechentlich' NOT NULL,
	"abgelehnt" timestamp with time zone,
	CONSTRAINT "mitteilung_haeufigkeit" CHECK ("portal"."mitteilung"."haeufigkeit" in ('sofort', 'taeglich', 'woechentlich', 'nie'))
);
--> statement-breakpoint
CREATE TABLE "portal"."mitteilung_offen" (
	"sichtbeobachtung_id" bigint PRIMARY KEY NOT NULL,
	"nutzer_id" bigint NOT NULL,
	"faellig" timestamp with time zone NOT NULL,
	"mail" uuid
);
--> statement-breakpoint
CREATE TABLE "portal"."nachricht" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."nachricht_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"sichtbeobachtung_id" bigint NOT NULL,
	"nutzer_id" bigint,
	"text" text NOT NULL,
	"offen" boolean DEFAULT false NOT NULL,
	"zeitpunkt" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "nachricht_text" CHECK (length("portal"."nachricht"."text") between 1 and 4000)
);
--> statement-breakpoint
CREATE TABLE "portal"."sichtbeobachtung_link" (
	"hash" "bytea" PRIMARY KEY NOT NULL,
	"sichtbeobachtung_id" bigint NOT NULL,
	"nutzer_id" bigint NOT NULL,
	"angelegt" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "sichtbeobachtung_link_hash_length" CHECK (octet_length("portal"."sichtbeobachtung_link"."hash") = 32)
);
--> statement-breakpoint
ALTER TABLE "portal"."mitteilung" ADD CONSTRAINT "mitteilung_nutzer_id_nutzer_id_fk" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."mitteilung_offen" ADD CONSTRAINT "mitteilung_offen_sichtbeobachtung_id_sichtbeobachtung_id_fk" FOREIGN KEY ("sichtbeobachtung_id") REFERENCES "portal"."sichtbeobachtung"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."mitteilung_offen" ADD CONSTRAINT "mitteilung_offen_nutzer_id_nutzer_id_fk" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."nachricht" ADD CONSTRAINT "nachricht_sichtbeobachtung_id_sichtbeobachtung_id_fk" FOREIGN KEY ("sichtbeobachtung_id") REFERENCES "portal"."sichtbeobachtung"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."nachricht" ADD CONSTRAINT "nachricht_nutzer_id_nutzer_id_fk" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung_link" ADD CONSTRAINT "sichtbeobachtung_link_sichtbeobachtung_id_sichtbeobachtung_id_fk" FOREIGN KEY ("sichtbeobachtung_id") REFERENCES "portal"."sichtbeobachtung"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung_link" ADD CONSTRAINT "sichtbeobachtung_link_nutzer_id_nutzer_id_fk" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "mitteilung_offen_nutzer" ON "portal"."mitteilung_offen" USING btree ("nutzer_id","mail");--> statement-breakpoint
CREATE INDEX "mitteilung_offen_faellig" ON "portal"."mitteilung_offen" USING btree ("faellig") WHERE "portal"."mitteilung_offen"."mail" is null;--> statement-breakpoint
CREATE INDEX "nachricht_satz" ON "portal"."nachricht" USING btree ("sichtbeobachtung_id","id");--> statement-breakpoint
CREATE INDEX "nachricht_nutzer" ON "portal"."nachricht" USING btree ("nutzer_id","id");--> statement-breakpoint
CREATE INDEX "nachricht_offen" ON "portal"."nachricht" USING btree ("id") WHERE "portal"."nachricht"."offen";--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_link_satz" ON "portal"."sichtbeobachtung_link" USING btree ("sichtbeobachtung_id");--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_link_nutzer" ON "portal"."sichtbeobachtung_link" USING btree ("nutzer_id");--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_link_angelegt" ON "portal"."sichtbeobachtung_link" USING btree ("angelegt");