const glmPrefix = '[gMASK]<sop>';

/** GLM models want their two opening marks exactly once, at the very front of whatever is sent. */
export function withFamilyPrefix(
  template: string | null,
  { prompt, memory }: { readonly prompt: string; readonly memory: string },
): { readonly prompt: string; readonly memory: string } {
  if (!template?.includes(glmPrefix)) return { prompt, memory };
  const bare = { prompt: prompt.replaceAll(glmPrefix, ''), memory: memory.replaceAll(glmPrefix, '') };
  return bare.memory === ''
    ? { prompt: glmPrefix + bare.prompt, memory: '' }
    : { prompt: bare.prompt, memory: glmPrefix + bare.memory };
}
