CREATE TABLE "portal"."bestaetigung" (
	"sichtbeobachtung_id" bigint PRIMARY KEY NOT NULL,
	"experte_id" bigint,
	"zeitpunkt" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "portal"."bestaetigung" ADD CONSTRAINT "bestaetigung_sichtbeobachtung_id_sichtbeobachtung_id_fk" FOREIGN KEY ("sichtbeobachtung_id") REFERENCES "portal"."sichtbeobachtung"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."bestaetigung" ADD CONSTRAINT "bestaetigung_experte_id_nutzer_id_fk" FOREIGN KEY ("experte_id") REFERENCES "portal"."nutzer"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "bestaetigung_experte" ON "portal"."bestaetigung" USING btree ("experte_id");