/** What an event says in English, in another language where it brought a translation along. */
export const told = (event, english, lang) => event.told?.[lang]?.[english] ?? english;
