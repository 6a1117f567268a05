"""Words and phrases that fill the slots of prompts; an entry may have slots itself."""

from __future__ import annotations


def _split(text: str) -> tuple[str, ...]:
    return tuple(" ".join(entry.split()) for entry in text.split(";") if entry.strip())


LISTS: dict[str, tuple[str, ...]] = {
    "nature": _split("""
        rainbows; thunder; earthquakes; volcanoes; tides; glaciers; deserts; coral reefs; snow;
        hurricanes; the water cycle; the northern lights; caves; rivers; lightning; fog; tsunamis;
        sand dunes; geysers; the ozone layer; hail; the seasons; mountain ranges; rain forests;
        wetlands; fossils; crystals; the wind; ocean currents; eclipses; comets; black holes;
        sunspots; meteor showers; the moon's phases; galaxies; the atmosphere of Mars
        """),
    "biology": _split("""
        photosynthesis; the human heart; DNA; digestion; the immune system; sleep; memory; muscles;
        vaccines; viruses; bacteria; pollination; evolution; the brain; lungs; kidneys; hormones;
        cells; enzymes; the food chain; hibernation; bird migration; camouflage; blood types; bones;
        the sense of smell; how eyes see colour; allergies; fever; fermentation; yeast; mushrooms
        """),
    "technology": _split("""
        computers; the internet; batteries; solar panels; microwaves; refrigerators; airplanes;
        GPS; smartphones; electric cars; search engines; encryption; compilers; databases; robots;
        machine learning; neural networks; wind turbines; 3D printers; lasers; radar; steam engines;
        bicycles; elevators; barcodes; digital cameras; Wi-Fi; cloud storage; operating systems;
        hard drives; satellites; touch screens; nuclear reactors; submarines; telescopes; clocks
        """),
    "society": _split("""
        inflation; democracy; supply and demand; taxes; insurance; the stock market; copyright;
        elections; trade; interest rates; public libraries; banks; courts; advertising; budgets;
        immigration; recycling; the United Nations; unemployment; pensions; trade unions; museums;
        city planning; public transport; human rights; newspapers; schools; volunteering; charities
        """),
    "history": _split("""
        the Roman Empire; the Renaissance; the French Revolution; ancient Egypt; the Silk Road;
        the Industrial Revolution; the printing press; the Cold War; the Vikings; the Black Death;
        the Great Wall of China; the Olympic Games; the space race; the Maya; the Ottoman Empire;
        the American Civil War; the Great Depression; the Bronze Age; the fall of Constantinople;
        the Magna Carta; the Aztecs; the voyages of Columbus; the invention of writing; Pompeii
        """),
    "school": _split("""
        fractions; prime numbers; percentages; the Pythagorean theorem; gravity; friction; magnets;
        electricity; atoms; chemical bonds; acids and bases; density; sound waves; light; energy;
        momentum; probability; averages; triangles; negative numbers; square roots; pi; logarithms;
        adverbs; metaphors; paragraphs; the periodic table; oxidation; heat; pressure; buoyancy
        """),
    "topic": ("{nature}", "{biology}", "{technology}", "{society}", "{history}", "{school}"),
    "country": _split("""
        France; Japan; Brazil; Canada; Egypt; India; Kenya; Norway; Mexico; Italy; Australia; Peru;
        Turkey; Vietnam; Spain; Greece; Morocco; Sweden; Chile; Thailand; Poland; Ireland; Iceland;
        Portugal; Nepal; Cuba; South Korea; New Zealand; Finland; Ghana; Argentina; Austria
        """),
    "city": _split("""
        Paris; Tokyo; Rome; London; New York; Cairo; Sydney; Berlin; Lisbon; Prague; Istanbul;
        Vienna; Toronto; Mumbai; Singapore; Barcelona; Athens; Dublin; Oslo; Chicago; Seoul;
        Amsterdam; Venice; Kyoto; Marrakesh; Edinburgh; Lima; Havana; Warsaw; Copenhagen
        """),
    "animal": _split("""
        dog; cat; fox; owl; elephant; turtle; dolphin; rabbit; bear; wolf; penguin; horse; crow;
        mouse; lion; frog; squirrel; hedgehog; parrot; whale; spider; goat; duck; otter; snail;
        tiger; bee; camel; deer; octopus; kangaroo; bat; swan; donkey; lizard; giraffe
        """),
    "person": _split("""
        girl; boy; baker; sailor; teacher; farmer; painter; king; queen; detective; doctor; robot;
        librarian; astronaut; musician; gardener; clockmaker; shepherd; pilot; nurse; carpenter;
        fisherman; student; grandmother; inventor; wizard; chess player; postman; chef; dancer
        """),
    "name": _split("""
        Mia; Anna; Tom; Ben; Leo; Sara; Nina; Oscar; Julia; Sam; Rosa; Ivan; Kate; Hugo; Olga; Paul;
        Emma; Noah; Lucy; Felix; Maya; Omar; Priya; Chen; Yuki; Carlos; Fatima; Elena; David; Zoe;
        Mr. Brown; Mrs. Miller; Dr. Lee; Ms. Garcia; Mr. Novak; Professor Hill
        """),
    "trait": _split("""
        shy; brave; curious; lazy; clever; lonely; forgetful; kind; grumpy; very small; very old;
        proud; cheerful; careful; stubborn; honest; sleepy; talkative; jealous; patient
        """),
    "place": _split("""
        a small village; the forest; a lighthouse; the moon; a busy market; an old castle;
        a library;
        a desert island; a train; the bottom of the sea; a snowy mountain; a bakery; a quiet garden;
        a big city; a space station; an attic; a farm; a museum at night; a school; a harbour
        """),
    "thing": _split("""
        key; map; letter; lamp; ring; clock; coin; book; mirror; box; feather; stone; violin; boat;
        seed; kite; umbrella; painting; telescope; bell; door; hat; candle; photograph; bicycle
        """),
    "event": _split("""
        finds a {thing}; loses a {thing}; meets a {trait} {animal}; learns to swim; cannot sleep;
        builds a {thing}; gets lost; makes a new friend; keeps a secret; wins a race; tells a lie;
        saves a {animal}; hears a strange sound; plants a tree; misses the last bus; forgets a name;
        opens a shop; travels to {city}; sees the sea for the first time; learns to say sorry
        """),
    "moral": _split("""
        honesty; patience; friendship; sharing; courage; hard work; kindness; listening;
        forgiveness;
        asking for help; being yourself; not giving up; gratitude; teamwork; trust
        """),
    "skill": _split("""
        play the guitar; cook; speak Spanish; swim; draw; write better essays; run five kilometres;
        play chess; ride a bicycle; type faster; take good photographs; speak in public; knit; sing;
        learn programming; read faster; juggle; play the piano; bake bread; dance; meditate; garden;
        remember names; solve puzzles; write poems; repair a bicycle; speak French;
        use a spreadsheet
        """),
    "goal": _split("""
        sleep better; save money; eat healthier; wake up early; reduce stress; stay focused;
        make new friends; lose weight; drink more water; use my phone less; read more books;
        prepare for an exam; find a job; prepare for an interview; learn new words; stay motivated;
        keep my house tidy; spend less on food; exercise at home; stop procrastinating;
        remember what
        I read; save energy at home; feel less nervous; be more patient; get along with my neighbour
        """),
    "trouble": _split("""
        my laptop is very slow; my plant has yellow leaves; my dog barks at night; my bread is too
        dry; my bicycle chain keeps falling off; I cannot concentrate at work; my roommate is noisy;
        my phone battery drains fast; I keep forgetting appointments; my soup is too salty; I have a
        headache after work; my cat does not eat; I am afraid of flying; I argue with my brother; my
        shoes smell; my back hurts from sitting; my kitchen sink is blocked; I feel tired all day;
        my child does not want to read; I spilled coffee on my shirt; I missed a deadline
        """),
    "food": _split("""
        tomato soup; pancakes; bread; vegetable curry; omelette; fried rice; apple pie; lentil stew;
        chocolate cake; potato salad; pizza; pasta with mushrooms; banana bread; hummus; tacos;
        chicken soup; oatmeal cookies; rice pudding; a fruit salad; dumplings; pumpkin soup; risotto
        """),
    "occasion": _split("""
        a birthday party; a picnic; a wedding; a school trip; a job interview; a camping weekend; a
        move to a new flat; a long flight; a book club meeting; a rainy Sunday; a job fair; a garden
        party; a science fair; a family dinner; a first day at work; a road trip; a garage sale
        """),
    "product": _split("""
        a water bottle; a backpack; a coffee shop; a toothbrush; a bookstore; running shoes; an app
        for learning words; a garden hose; a bakery; a desk lamp; a bicycle repair shop; a raincoat;
        a board game; a music school; a travel agency; handmade soap; a smart watch; a pet hotel
        """),
    "reader": _split("""
        a five-year-old; a beginner; a ten-year-old; my grandmother; a high school student; a
        visitor from another planet; a busy manager; a new colleague; a tourist; a curious child
        """),
    "length": _split("""
        in one sentence; in two sentences; in three sentences; in a few words; in simple words;
        in one paragraph; briefly; in detail; in plain English; in about fifty words; step by step
        """),
    "number": _split("three; four; five; six; seven; ten; eight"),
    "quality": _split("""
        important; interesting; surprising; useful; common; simple; famous; good; cheap; unusual
        """),
    "adjective": _split("""
        happy; quick; quiet; ancient; fragile; generous; bitter; enormous; gentle; honest; narrow;
        modern; stubborn; bright; lazy; precious; rough; sudden; tired; vague; wise; humble; eager
        """),
    "plural": _split("""
        fruits; vegetables; animals that can fly; planets; musical instruments; sports; colours;
        countries in {continent}; kinds of cheese; trees; tools in a kitchen; board games; rivers;
        jobs that need no desk; things made of glass; inventions of the last century; hobbies;
        mammals that live in water; spices; languages spoken in {continent}; kinds of weather;
        items for a first aid kit; things to pack for {occasion}; ways to travel; round things;
        words that rhyme with {rhyme}; names for a {trait} {animal}; uses for an old {thing};
        gifts for a {person}; questions to ask a {person}; titles for a book about {topic};
        reasons to visit {city}; facts about {topic}; tips for {occasion}; ideas for {product};
        problems with {technology}; advantages of {technology}; rules for a library; breakfast ideas
        """),
    "continent": _split("Africa; Asia; Europe; South America"),
    "rhyme": _split("day; light; blue; tree; cat; house; rain; sing; moon; hand; cold; ball"),
    "reason": _split("""
        thank them for a gift; say sorry for being late; ask for a day off; invite them to a dinner;
        complain about a broken {thing}; ask for a refund; cancel an appointment; say goodbye;
        ask for advice about {moral}; congratulate them on a new job;
        ask to move a meeting to Monday;
        tell them about a trip to {city}; ask about the price of {product}; recommend a book about
        {topic}; explain why the work is late; order {number} boxes of paper; report a lost {thing};
        apply for a summer job; wish them well after an illness; announce a party; offer help
        """),
    "tone": _split("polite; friendly; short; formal; warm; cheerful; serious; funny; simple"),
    "opener": _split("""
        Hello!; Hi there.; Good morning.; Hey, quick question.; Thanks for your help so far.;
        I have a question.; I am new here.; Sorry to bother you.; I am bored.; Good evening!
        """),
}
