import { translatable } from '../languages/index.ts';

/** What requests need of the sentences about settings; the others are loaded with the dialog. */
export const texts = translatable('requestSettings', {
  reasoning: {
    '': 'Reasoning effort: auto',
    none: 'Reasoning effort: off',
    low: 'Reasoning effort: low',
    medium: 'Reasoning effort: medium',
    high: 'Reasoning effort: high',
  },
  schema: {
    noObject: 'A schema is a JSON object.',
    failed: (reason: string) =>
      `The JSON schema in the settings is not valid: ${reason} Correct or clear it under Settings, Output.`,
  },
});
