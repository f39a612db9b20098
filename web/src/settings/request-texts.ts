import { translatable } from '../languages/index.ts';

/** What requests need of the sentences about settings; the others are loaded with the dialog. */
export const texts = translatable('requestSettings', {
  efforts: { '': 'Auto', none: 'Off', low: 'Low', medium: 'Medium', high: 'High' },
  schema: {
    noObject: 'A schema is a JSON object.',
    failed: (reason: string) =>
      `The JSON schema in the settings is not valid: ${reason} Correct or clear it under Settings, Output.`,
  },
});
