const longest = 100;

/** A file name for a config, or undefined for one that would lead elsewhere or that no system takes. */
export function configName(asked: string, kind: 'config' | 'template'): string | undefined {
  const ending = kind === 'config' ? '.kcpps' : '.kcppt';
  const bare = asked.trim().replace(/\.kcpp[st]$/i, '');
  const fits =
    bare.length > 0 && bare.length <= longest && !/[/\\:*?"<>|\p{Cc}]/u.test(bare) && !/^\.|[. ]$/.test(bare);
  const reserved = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(bare);
  return fits && !reserved ? bare + ending : undefined;
}
