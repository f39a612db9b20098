/** Said of tools in every dialect that has them. */
export const loosenedNote =
  'What a schema asks for and no grammar can follow is left out, and x-parley-loosened names the tool, the place and the keyword; two tools of one name are refused.';

/** Said of every way to ask for a reply without thinking. */
export const silenceNote =
  'No thinking: by the template, or by the adapter where the model thinks and its format has such a form; otherwise named in x-parley-ignored.';
