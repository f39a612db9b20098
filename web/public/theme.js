// Before the first paint, so that a page of the chosen look and language never flashes in another one.
{
  let look = {};
  try {
    look = JSON.parse(localStorage.getItem('parley.look')) ?? {};
  } catch {}
  const root = document.documentElement;
  if (look.theme === 'light' || look.theme === 'dark') root.dataset.theme = look.theme;

  // The address of the file of each language by its code.
  const files = JSON.parse(document.currentScript.dataset.languages ?? '{}');
  const codeOf = (tag) => {
    const [language, ...rest] = tag.toLowerCase().split(/[-_]/);
    const chinese = rest.some((part) => /^(hant|tw|hk|mo)$/.test(part)) ? 'zh-Hant' : 'zh-Hans';
    const code = { pt: 'pt-BR', zh: chinese }[language] ?? language;
    return code === 'en' || code in files ? code : undefined;
  };
  const tags = [look.language, ...(navigator.languages ?? [])];
  const code = tags.flatMap((tag) => (tag && codeOf(String(tag))) || [])[0] ?? 'en';
  root.lang = code;
  root.dir = code === 'ar' ? 'rtl' : 'ltr';
  // A module that the parser meets here runs before those that follow, and is fetched beside them.
  if (code !== 'en') document.write(`<script type="module" crossorigin src="${files[code]}"></script>`);
}
