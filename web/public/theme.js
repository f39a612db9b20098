// Before the first paint, so that a page of the chosen look never flashes in the other one.
try {
  const theme = JSON.parse(localStorage.getItem('parley.look') ?? '{}').theme;
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {}
